// Do the kernels give the same bits on another machine? COCO's twelve numbers of two files, without Python.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "evaluation/kept.hpp"
#include "evaluation/sides.hpp"
#include "json/coco.hpp"
#include "json/content.hpp"
#include "json/resolve.hpp"

namespace {

using namespace verite;

struct File {
    explicit File(const std::string& path) : content(path), document(json::read_coco(content)) {}

    // The objects in the tables of a truth.
    Columns objects(const json::Document& truth) {
        auto& own = document.annotations;
        const json::SharedColumns shared{keep(std::move(own.boxes)),
                                         view(own.scores),
                                         view(own.areas),
                                         view(own.crowds),
                                         view(own.ignores),
                                         view(own.ids.numbers),
                                         {},
                                         {},
                                         {},
                                         {}};
        const json::IdTables tables{truth.images.ids.numbers.values(), {}, truth.categories.ids.values()};
        auto found = json::resolve(document, shared, tables, nullptr, BoxLayout::sizes, 2, 1);
        if (!found.faults.empty()) throw std::runtime_error("a fault in " + content.path());
        return found.columns;
    }

    template <class T, std::size_t width>
    static View<T> view(Column<T, width>& column) {
        return column.rows() > 0 ? keep(std::move(column)) : View<T>();
    }

    json::Content content;
    json::Document document;
};

// Evenly from first to last, as numpy's linspace has them.
std::vector<double> levels(double first, double last, int count) {
    std::vector<double> found;
    const double step = (last - first) / (count - 1);
    for (int i = 0; i + 1 < count; ++i) found.push_back(first + i * step);
    found.push_back(last);
    return found;
}

Images images_of(const json::Images& images) {
    const auto ids = images.ids.numbers.values();
    const Array<std::int32_t> unknown(ids.size(), 0);
    return {keep(Array<std::int64_t>(ids.begin(), ids.end())),
            {},
            keep(Array<std::int32_t>(unknown)),
            keep(Array<std::int32_t>(unknown))};
}

void print_numbers(const std::string& truth_path, const std::string& pred_path) {
    File truth(truth_path), pred(pred_path);
    const Images images = images_of(truth.document.images);
    const std::size_t labels = truth.document.categories.count;
    const Columns preds = pred.objects(truth.document), truths = truth.objects(truth.document);
    const double huge = 1e10;
    const Rules rules{
        levels(0.5, 0.95, 10), {0, huge, 0, 1024, 1024, 9216, 9216, huge}, {1, 10, 100}, levels(0, 1, 101)};
    SideRules sides;
    sides.ignored = {Flag::crowd};
    sides.shared = {Flag::crowd};
    sides.pred_is_results = true;
    const KeptEvaluation kept(truths, preds, images, labels, {}, sides, rules, find_similarity("box"), 2);
    const PrecisionRecall& numbers = kept.evaluation().numbers();
    for (const Choice& choice : std::vector<Choice>{{true, {}, 0, 2},
                                                    {true, 0, 0, 2},
                                                    {true, 5, 0, 2},
                                                    {true, {}, 1, 2},
                                                    {true, {}, 2, 2},
                                                    {true, {}, 3, 2},
                                                    {false, {}, 0, 0},
                                                    {false, {}, 0, 1},
                                                    {false, {}, 0, 2},
                                                    {false, {}, 1, 2},
                                                    {false, {}, 2, 2},
                                                    {false, {}, 3, 2}})
        std::printf("%a\n", numbers.mean(choice));
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) {
        std::fprintf(stderr, "usage: smoke TRUTH PREDICTIONS\n");
        return 2;
    }
    try {
        print_numbers(arguments[1], arguments[2]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}

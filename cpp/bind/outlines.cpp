// Segmentations in dictionaries, as code written for pycocotools holds them, converted to columns.
#include <algorithm>
#include <map>
#include <numeric>
#include <span>

#include "bind/records.hpp"
#include "columns/memory.hpp"
#include "columns/parallel.hpp"
#include "regions/masks.hpp"

namespace verite {
namespace {

using namespace nb::literals;
using OutlineColumns = nb::typed<nb::tuple, ArraysOf<double, std::int64_t, std::int64_t>,
                                 ArraysOf<std::uint32_t, std::int64_t, std::int32_t>>;
using SegmentationReader = Reader<1, nb::object>;
constexpr const char* runs = "a mask of size and counts as segmentation";

constexpr const char* polygons = "polygons of three points and more, or a mask, as segmentation";

// The rings of objects, read in any order.
class RingColumns {
  public:
    explicit RingColumns(std::size_t count) : objects_(count) {}

    void read(std::size_t place, PyObject* record, PyObject* given) {
        const std::size_t first = rings_.size();
        each_of(record, given, polygons, [&](PyObject* ring) {
            const std::size_t start = points_.size();
            each_of(record, ring, polygons,
                    [&](PyObject* value) { points_.push_back(number_of(record, value, polygons)); });
            if (rings_.size() == first && points_.size() - start < 5) complain(record, polygons, given);
            points_.resize(start + (points_.size() - start) / 2 * 2);  // an odd one out is lost, as in pycocotools
            rings_.push_back(points_.size());
        });
        if (rings_.size() == first) complain(record, polygons, given);
        objects_[place] = {first - 1, rings_.size() - 1};
    }

    ArraysOf<double, std::int64_t, std::int64_t> take() const {
        Array<double> points;
        points.reserve(points_.size());
        Array<std::int64_t> rings{0}, objects{0};
        for (const auto& [first, last] : objects_) {
            points.insert(points.end(), points_.data() + rings_[first], points_.data() + rings_[last]);
            for (std::size_t ring = first; ring < last; ++ring)
                rings.push_back(rings.back() + static_cast<std::int64_t>((rings_[ring + 1] - rings_[ring]) / 2));
            objects.push_back(static_cast<std::int64_t>(rings.size() - 1));
        }
        const std::size_t pairs = points.size() / 2;
        return nb::make_tuple(to_numpy(std::move(points), {pairs, std::size_t{2}}), to_numpy(std::move(rings)),
                              to_numpy(std::move(objects)));
    }

  private:
    Array<double> points_;
    std::vector<std::size_t> rings_{0};                         // where each begins among the numbers of all
    std::vector<std::pair<std::size_t, std::size_t>> objects_;  // the first ring of each and the one behind its last
};

// The masks of objects. Texts are found first and decoded later, on threads.
class MaskColumns {
  public:
    explicit MaskColumns(std::size_t count) : texts_(count), ends_(count + 1, 0), sizes_(2 * count, 0) {}

    void read(std::size_t place, PyObject* record, PyObject* given) {
        const auto [size, counts] = reader_.read(given);
        if (!size || !counts) complain(record, runs, given);
        std::vector<std::int64_t> sides;
        each_of(record, size.ptr(), runs, [&](PyObject* value) { sides.push_back(whole_of(record, value, runs)); });
        if (sides.size() != 2 || std::ranges::any_of(sides, [](auto side) { return side < 0 || side > INT32_MAX; }))
            complain(record, runs, given);
        std::ranges::transform(sides, &sizes_[2 * place], [](auto side) { return static_cast<std::int32_t>(side); });
        if (pixels(place) > UINT32_MAX) complain(record, "fewer than 2**32 pixels", given);
        if (PyList_Check(counts.ptr()))
            read_list(place, record, given, counts.ptr());
        else
            read_text(place, record, given, counts);
    }

    // Reports the first mask that cannot be decoded, with its position.
    std::optional<std::pair<std::size_t, std::string>> decode(unsigned threads) {
        const nb::gil_scoped_release released;
        stretches_.resize(threads > 1 ? std::size_t{4} * threads : 1);
        in_parallel(stretches_.size(), threads, [&](std::size_t piece) { decode(piece); });
        std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
        const auto wrong = std::ranges::find_if(stretches_, [](const Stretch& one) { return !one.fault.empty(); });
        if (wrong == stretches_.end()) return std::nullopt;
        return std::pair(wrong->faulty, wrong->fault);
    }

    ArraysOf<std::uint32_t, std::int64_t, std::int32_t> take() {
        Array<std::uint32_t> counts;
        counts.reserve(static_cast<std::size_t>(ends_.back()));
        for (const Stretch& one : stretches_) counts.insert(counts.end(), one.counts.begin(), one.counts.end());
        const std::size_t objects = texts_.size();
        return nb::make_tuple(to_numpy(std::move(counts)), to_numpy(std::move(ends_)),
                              to_numpy(std::move(sizes_), {objects, std::size_t{2}}));
    }

  private:
    struct Text {
        nb::object held;
        std::span<const char> letters;
    };
    // The masks of neighbours, one behind the other.
    struct Stretch {
        std::vector<std::uint32_t> counts;
        std::size_t faulty = 0;
        std::string fault;
    };

    std::uint64_t pixels(std::size_t place) const {
        return std::uint64_t(sizes_[2 * place]) * std::uint64_t(sizes_[2 * place + 1]);
    }

    void read_list(std::size_t place, PyObject* record, PyObject* given, PyObject* counts) {
        std::vector<std::uint32_t>& list = lists_[place];
        std::uint64_t sum = 0;
        each_of(record, counts, runs, [&](PyObject* value) {
            const std::int64_t run = whole_of(record, value, runs);
            if (run < 0 || (sum += static_cast<std::uint64_t>(run)) > pixels(place)) complain(record, runs, given);
            list.push_back(static_cast<std::uint32_t>(run));
        });
    }

    void read_text(std::size_t place, PyObject* record, PyObject* given, const nb::object& counts) {
        Py_ssize_t length = 0;
        const char* letters;
        if (PyBytes_Check(counts.ptr())) {
            letters = PyBytes_AsString(counts.ptr());
            length = PyBytes_Size(counts.ptr());
        } else {
            letters = PyUnicode_Check(counts.ptr()) ? PyUnicode_AsUTF8AndSize(counts.ptr(), &length) : nullptr;
        }
        if (!letters) complain(record, runs, given);
        texts_[place] = {counts, {letters, static_cast<std::size_t>(length)}};
    }

    void decode(std::size_t piece) {
        Stretch& stretch = stretches_[piece];
        const std::size_t last = texts_.size() * (piece + 1) / stretches_.size();
        for (std::size_t place = texts_.size() * piece / stretches_.size(); place < last; ++place) {
            const std::size_t first = stretch.counts.size();
            try {
                add(place, stretch.counts);
            } catch (const std::invalid_argument& error) {
                stretch.faulty = place;
                stretch.fault = error.what();
                return;
            }
            ends_[place + 1] = static_cast<std::int64_t>(stretch.counts.size() - first);
        }
    }

    // Where runs end early, background follows.
    void add(std::size_t place, std::vector<std::uint32_t>& counts) const {
        const std::size_t first = counts.size();
        std::uint64_t sum = 0;
        if (texts_[place].held) {
            sum = decode_runs(texts_[place].letters, pixels(place), counts, Ending::early);
        } else if (const auto list = lists_.find(place); list != lists_.end()) {
            counts.insert(counts.end(), list->second.begin(), list->second.end());
            sum = std::reduce(list->second.begin(), list->second.end(), std::uint64_t{0});
        } else {
            return;  // an object with polygons
        }
        complete_runs(pixels(place) - sum, first, counts);
    }

    Reader<2, nb::object> reader_{{"size", "counts"}};
    std::vector<Text> texts_;                                  // none for other objects
    std::map<std::size_t, std::vector<std::uint32_t>> lists_;  // runs that are not packed into a text
    Array<std::int64_t> ends_;
    Array<std::int32_t> sizes_;
    std::vector<Stretch> stretches_;
};

// Outlines of these rows of a list: polygons (points, offsets of rings and of objects) and runs (counts, offsets of
// objects, heights and widths). An object has one or the other.
OutlineColumns read_outlines(const Dictionaries& records, const Column1<std::int64_t>& rows, unsigned threads) {
    const auto record_at = [&](std::size_t place) {
        return PyList_GetItem(records.ptr(), static_cast<Py_ssize_t>(rows(place)));
    };
    RingColumns rings(rows.size());
    MaskColumns masks(rows.size());
    read_by_address(order_by_address(rows.size(), record_at), [&](const std::vector<std::uint32_t>& places) {
        SegmentationReader reader({"segmentation"});
        reader.read_all(places, record_at, [&](std::uint32_t place, const SegmentationReader::Values& said) {
            PyObject* given = said[0].ptr();
            if (given && PyDict_Check(given))
                masks.read(place, record_at(place), given);
            else
                rings.read(place, record_at(place), given);
        });
    });
    if (const auto fault = masks.decode(threads))
        complain(record_at(fault->first), runs, nb::str(fault->second.c_str()).ptr());
    return nb::make_tuple(rings.take(), masks.take());
}

}  // namespace

void register_outlines(nb::module_& module) {
    module.def("read_outlines", &read_outlines, "records"_a, "rows"_a, "threads"_a,
               "Polygons and runs of the dictionaries in these rows.");
}

}  // namespace verite

// Segmentations in dictionaries, as code written for pycocotools has them, as columns.
#include <algorithm>
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
constexpr const char* runs = "a mask of size and counts as segmentation";

constexpr const char* polygons = "polygons of three points and more, or a mask, as segmentation";

// A mask that is found first, and whose text is decoded later, on threads.
struct Mask {
    nb::object text;  // held while it is decoded
    std::int32_t height = 0, width = 0;
    std::vector<std::uint32_t> counts;
    std::string fault;

    std::uint64_t pixels() const { return std::uint64_t(height) * std::uint64_t(width); }

    // Where runs end early, background follows.
    void complete(std::span<const char> letters) {
        try {
            decode_runs(letters, pixels(), counts, Ending::early);
            std::uint64_t sum = 0;
            for (const std::uint32_t run : counts) sum += run;
            complete_runs(pixels() - sum, 0, counts);
        } catch (const std::invalid_argument& error) {
            fault = error.what();
        }
    }
};

// One object: the rings of its polygons among all rings that were read, or its mask.
struct Outline {
    std::size_t first_ring = 0, last_ring = 0;
    std::int64_t mask = -1;
};

class Outlines {
  public:
    explicit Outlines(std::size_t count) : outlines_(count) {}

    void read(std::size_t place, PyObject* record) {
        PyObject* given = reader_.read(record)[0];
        Outline& outline = outlines_[place];
        outline = {rings_.size() - 1, rings_.size() - 1, -1};
        if (given && PyDict_Check(given)) {
            outline.mask = static_cast<std::int64_t>(masks_.size());
            masks_.push_back(read_mask(record, given));
        } else {
            read_rings(record, given);
            outline.last_ring = rings_.size() - 1;
        }
    }

    void decode(unsigned threads) {
        std::vector<std::span<const char>> texts(masks_.size());
        for (std::size_t i = 0; i < masks_.size(); ++i)
            if (PyObject* text = masks_[i].text.ptr())
                texts[i] = {PyBytes_AsString(text), static_cast<std::size_t>(PyBytes_Size(text))};
        const nb::gil_scoped_release released;
        in_stretches(masks_.size(), threads, [&](std::size_t first, std::size_t last) {
            for (std::size_t i = first; i < last; ++i) masks_[i].complete(texts[i]);
        });
    }

    // What is wrong with the mask of an object; empty for nothing.
    const std::string& fault(std::size_t place) const {
        static const std::string nothing;
        const std::int64_t mask = outlines_[place].mask;
        return mask < 0 ? nothing : masks_[static_cast<std::size_t>(mask)].fault;
    }

    ArraysOf<double, std::int64_t, std::int64_t> take_polygons() const {
        Array<double> points;
        points.reserve(points_.size());
        Array<std::int64_t> rings{0}, objects{0};
        for (const Outline& outline : outlines_) {
            for (std::size_t ring = outline.first_ring; ring < outline.last_ring; ++ring) {
                points.insert(points.end(), points_.data() + rings_[ring], points_.data() + rings_[ring + 1]);
                rings.push_back(static_cast<std::int64_t>(points.size() / 2));
            }
            objects.push_back(static_cast<std::int64_t>(rings.size() - 1));
        }
        const std::size_t pairs = points.size() / 2;
        return nb::make_tuple(to_numpy(std::move(points), {pairs, std::size_t{2}}), to_numpy(std::move(rings)),
                              to_numpy(std::move(objects)));
    }

    ArraysOf<std::uint32_t, std::int64_t, std::int32_t> take_runs() const {
        Array<std::uint32_t> counts;
        std::size_t total = 0;
        for (const Mask& mask : masks_) total += mask.counts.size();
        counts.reserve(total);
        Array<std::int64_t> objects{0};
        Array<std::int32_t> sizes;
        const Mask nobody;
        for (const Outline& outline : outlines_) {
            const Mask& mask = outline.mask < 0 ? nobody : masks_[static_cast<std::size_t>(outline.mask)];
            counts.insert(counts.end(), mask.counts.begin(), mask.counts.end());
            objects.push_back(static_cast<std::int64_t>(counts.size()));
            sizes.insert(sizes.end(), {mask.height, mask.width});
        }
        return nb::make_tuple(to_numpy(std::move(counts)), to_numpy(std::move(objects)),
                              to_numpy(std::move(sizes), {outlines_.size(), std::size_t{2}}));
    }

  private:
    void read_rings(PyObject* record, PyObject* given) {
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
    }

    Mask read_mask(PyObject* record, PyObject* given) {
        const auto [size, counts] = mask_reader_.read(given);
        if (!size || !counts) complain(record, runs, given);
        Mask mask;
        std::vector<std::int64_t> sides;
        each_of(record, size, runs, [&](PyObject* value) { sides.push_back(whole_of(record, value, runs)); });
        if (sides.size() != 2 || std::ranges::any_of(sides, [](auto side) { return side < 0 || side > INT32_MAX; }))
            complain(record, runs, given);
        mask.height = static_cast<std::int32_t>(sides[0]);
        mask.width = static_cast<std::int32_t>(sides[1]);
        if (mask.pixels() > UINT32_MAX) complain(record, "fewer than 2**32 pixels", given);
        if (PyList_Check(counts)) {
            std::uint64_t sum = 0;
            each_of(record, counts, runs, [&](PyObject* value) {
                const std::int64_t run = whole_of(record, value, runs);
                if (run < 0 || (sum += static_cast<std::uint64_t>(run)) > mask.pixels()) complain(record, runs, given);
                mask.counts.push_back(static_cast<std::uint32_t>(run));
            });
        } else {
            mask.text = PyBytes_Check(counts) ? nb::borrow(counts) : nb::steal(PyUnicode_AsUTF8String(counts));
            if (!mask.text) complain(record, runs, given);
        }
        return mask;
    }

    Reader<1> reader_{{"segmentation"}};
    Reader<2> mask_reader_{{"size", "counts"}};
    std::vector<Outline> outlines_;
    Array<double> points_;
    std::vector<std::size_t> rings_{0};  // where each begins among the numbers of all
    std::vector<Mask> masks_;
};

// Outlines of these rows of a list: polygons (points, offsets of rings and of objects) and runs (counts, offsets of
// objects, heights and widths). An object has one or the other.
OutlineColumns read_outlines(const Dictionaries& records, const Column1<std::int64_t>& rows, unsigned threads) {
    const auto record_at = [&](std::size_t place) {
        return PyList_GetItem(records.ptr(), static_cast<Py_ssize_t>(rows(place)));
    };
    Outlines outlines(rows.size());
    read_by_address(order_by_address(rows.size(), record_at), [&](const std::vector<std::uint32_t>& places) {
        for (const std::uint32_t place : places) outlines.read(place, record_at(place));
    });
    outlines.decode(threads);
    for (std::size_t place = 0; place < rows.size(); ++place)
        if (const std::string& fault = outlines.fault(place); !fault.empty())
            complain(record_at(place), runs, nb::str(fault.c_str()).ptr());
    return nb::make_tuple(outlines.take_polygons(), outlines.take_runs());
}

}  // namespace

void register_outlines(nb::module_& module) {
    module.def("read_outlines", &read_outlines, "records"_a, "rows"_a, "threads"_a,
               "Polygons and runs of the dictionaries in these rows.");
}

}  // namespace verite

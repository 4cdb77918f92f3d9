// A COCO file for Python. Its columns stay in the core until Python asks for them; until then kernels can work on them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <tuple>
#include <vector>

#include "evaluation/facts.hpp"
#include "evaluation/settled.hpp"
#include "json/coco.hpp"
#include "json/mapped.hpp"
#include "json/shapes.hpp"

namespace verite {

namespace nb = nanobind;

// The largest side, number of pixels, number of points and coordinate.
using Limits = std::tuple<std::int64_t, std::int64_t, std::int64_t, double>;
inline const Limits usual_limits{65'535, 500'000'000, 1'000'000, 1e7};
using Records = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

json::RegionLimits region_limits(const Limits& given, bool is_strict);

// A path or content, read.
struct Reading {
    std::unique_ptr<MappedFile> file;
    unsigned threads;
    json::Document document;
};

class CocoFile {
  public:
    explicit CocoFile(Reading&& reading)
        : file_(std::move(reading.file)), threads_(reading.threads), document_(std::move(reading.document)) {}

    bool is_results() const { return document_.is_results; }
    std::vector<std::string> keys() const { return {document_.keys.begin(), document_.keys.end()}; }

    // Columns as arrays, which own them from then on; what kernels have made of them is given up.
    struct Columns {
        nb::dict images, categories, annotations;
    };
    const Columns& columns();

    nb::object polygons(const Records& records, bool is_strict, const Limits& limits);
    nb::object runs(const Records& records, bool is_strict, const Limits& limits);
    nb::object region_kinds() const;
    nb::object region_bytes() const;
    nb::object region_lengths() const;

    // The outlines that kernels have read, given up; None where they have read none.
    nb::object take_shapes();

    // Finds the place of everything in a truth, and of results in the tables of a truth that is settled. False where
    // something is unusual, and where columns are Python's already.
    bool settle(const Limits& limits);
    bool settle_in(CocoFile& truth);
    // Of a truth, while its columns are here.
    nb::list class_names() const;
    std::vector<std::int64_t> class_ids() const;

    // Calls work() while nobody can take the columns of either, without holding the interpreter; nothing where they are
    // taken already, or where `pred` was not settled in `truth`. Both may be the same.
    template <class Work>
    static auto between(CocoFile& truth, CocoFile& pred, Work&& work) -> std::optional<decltype(work())> {
        const nb::gil_scoped_release released;
        const std::shared_lock first(truth.taking_);
        std::shared_lock second(pred.taking_, std::defer_lock);
        if (&truth != &pred) second.lock();
        if (truth.is_taken_ || pred.is_taken_ || !truth.ranks_ || !pred.positions_ || pred.truth_ != &truth)
            return std::nullopt;
        return work();
    }

    const json::Document& document() const { return document_; }
    const Ranks& ranks() const { return *ranks_; }
    const Positions& positions() const { return *positions_; }
    // Read when they are first asked for. Throws where a segmentation is wrong, or the file was changed.
    const Shapes& shapes(const Limits& limits);

  private:
    template <class Regions>
    using ReadRegions = Regions (*)(std::span<const char>, const json::Document&, std::span<const std::int64_t>,
                                    const json::RegionLimits&, unsigned);

    template <class Regions>
    Regions converted(ReadRegions<Regions> read, const Records& records, bool is_strict, const Limits& limits) const;
    void check_unchanged() const;

    std::unique_ptr<MappedFile> file_;
    unsigned threads_;
    json::Document document_;
    mutable std::shared_mutex taking_;  // exclusive: columns leave the core
    bool is_taken_ = false;
    std::optional<Columns> columns_;
    // Set when the file is settled.
    std::optional<Ranks> ranks_;  // of a truth
    std::optional<Positions> positions_;
    const CocoFile* truth_ = nullptr;
    nb::object truth_owner_;  // keeps it alive
    std::mutex shaping_;
    std::optional<Shapes> shapes_;
};

void register_evaluation(nb::module_& module, nb::class_<CocoFile>& file);

}  // namespace verite

// A COCO file for Python: its columns, and where its segmentations are. The file does not stay open.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "bind/arrays.hpp"
#include "columns/objects.hpp"
#include "json/content.hpp"
#include "json/resolve.hpp"
#include "json/shapes.hpp"

namespace verite {

using Limits = const json::RegionLimits*;  // null: the usual ones
using Records = Column1<std::int64_t>;

inline json::RegionLimits region_limits(Limits given, bool is_strict = true) {
    json::RegionLimits limits = given ? *given : json::RegionLimits();
    limits.is_strict = is_strict;
    return limits;
}

// Calls work(). A file that changed meanwhile is reported as such, any other fault with its line.
template <class Work>
auto report_with_line(const json::Content& content, Work&& work) {
    try {
        auto found = work();
        content.check_unchanged();
        return found;
    } catch (json::ParseError& error) {
        content.check_unchanged();
        error.line = content.line_of(error.defect.byte);
        throw;
    }
}

// A document whose bytes can be read again: those of a file from disk, those of a pipe or a small file from memory.
struct Source {
    std::string path;
    std::optional<json::Stamp> stamp;
    std::shared_ptr<const json::Content> kept;

    std::shared_ptr<const json::Content> open() const {
        if (kept) return kept;
        if (!stamp) return std::make_shared<json::Content>(std::span<const char>());  // nothing was worth keeping
        auto content = std::make_shared<json::Content>(path);
        if (content->stamp() != stamp) throw json::ChangedFile(path, "after it was read");
        return content;
    }

    // Calls work(content). Faults get their line and file.
    template <class Work>
    auto with_content(Work&& work) const {
        const auto content = open();
        try {
            return report_with_line(*content, [&] { return work(*content); });
        } catch (json::ParseError& error) {
            error.path = path;
            throw;
        }
    }
};

// A document and those of its columns that objects share.
class CocoFile {
  public:
    CocoFile(json::Document&& document, Source source, unsigned threads)
        : shared_{keep_if_used(document.annotations.boxes),
                  keep_if_used(document.annotations.scores),
                  keep_if_used(document.annotations.areas),
                  keep_if_used(document.annotations.crowds),
                  keep_if_used(document.annotations.ignores),
                  keep_if_used(document.annotations.ids.numbers),
                  {},
                  keep_if_used(document.annotations.points),
                  keep_if_used(document.annotations.labelled),
                  keep_if_used(document.annotations.angles)},
          image_ids_(keep_if_used(document.images.ids.numbers)),
          source_(std::move(source)),
          threads_(threads) {
        auto located = std::make_shared<json::Document>();
        located->is_results = document.is_results;
        auto& regions = located->annotations;
        regions.count = document.annotations.count;
        regions.region_kinds = std::move(document.annotations.region_kinds);
        regions.region_bytes = std::move(document.annotations.region_bytes);
        regions.region_lengths = std::move(document.annotations.region_lengths);
        located_ = std::move(located);
        shared_.kinds = this->located(&json::Annotations::region_kinds);
        document_ = std::make_shared<const json::Document>(std::move(document));
    }

    const json::Document& document() const { return *document_; }
    const json::SharedColumns& shared() const { return shared_; }
    const View<std::int64_t>& image_ids() const { return image_ids_; }

    // A view of a column that stays in the document.
    template <class T, std::size_t width>
    View<T> view(const Column<T, width>& column) const {
        return column.rows() > 0 ? View<T>{column.values(), document_} : View<T>();
    }
    template <class T>
    RaggedView<T> view(const RaggedColumn<T>& column) const {
        return {{column.values.values(), document_}, {column.starts().values(), document_}};
    }

    // The same of where segmentations are.
    template <class T>
    View<T> located(Column<T> json::Annotations::* column) const {
        const Column<T>& found = located_->annotations.*column;
        return found.rows() > 0 ? View<T>{found.values(), located_} : View<T>();
    }

    // The polygons and masks of all objects, for later.
    std::shared_ptr<const LazyShapes> shapes(Limits limits) const {
        return std::make_shared<const LazyShapes>(
            [source = source_, located = located_, threads = threads_, limits = region_limits(limits, true)] {
                return source.with_content([&](const json::Content& content) {
                    return json::read_shapes(content, *located, limits, threads);
                });
            });
    }

    // Those of some records.
    template <class Regions>
    Regions read(Regions (*read)(const json::Content&, const json::Document&, std::span<const std::int64_t>,
                                 const json::RegionLimits&, unsigned),
                 const Records& records, bool is_strict, Limits limits) const {
        const nb::gil_scoped_release released;
        return source_.with_content([&](const json::Content& content) {
            return read(content, *located_, span_of(records), region_limits(limits, is_strict), threads_);
        });
    }

  private:
    template <class T, std::size_t width>
    static View<T> keep_if_used(Column<T, width>& column) {
        return column.rows() > 0 ? keep(std::move(column)) : View<T>();
    }

    template <class T>
    static RaggedView<T> keep_if_used(RaggedColumn<T>& column) {
        if (column.values.rows() == 0) return {};
        return {keep(std::move(column.values)), keep(std::move(column.starts()))};
    }

    json::SharedColumns shared_;
    View<std::int64_t> image_ids_;
    Source source_;
    unsigned threads_;
    std::shared_ptr<const json::Document> located_;  // nothing but where segmentations are
    std::shared_ptr<const json::Document> document_;
};

// What each of these files says about the class.
void bind_columns_as_read(nb::class_<CocoFile>& file);
void bind_objects(nb::class_<CocoFile>& file);
void register_faults(nb::module_& module);

}  // namespace verite

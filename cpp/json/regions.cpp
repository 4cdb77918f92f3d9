#include "json/regions.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "columns/memory.hpp"
#include "columns/parallel.hpp"
#include "columns/pause.hpp"
#include "json/error.hpp"
#include "json/polygons.hpp"
#include "json/runs.hpp"

namespace verite::json {

namespace {

template <class Reader>
void check_records(const Annotations& annotations, std::span<const std::int64_t> records) {
    for (const std::int64_t record : records) {
        const auto row = static_cast<std::size_t>(record);  // far too large if negative
        if (row >= annotations.count)
            throw std::invalid_argument("record " + std::to_string(record) + " of " +
                                        std::to_string(annotations.count));
        const bool has_kinds = annotations.region_kinds.rows() > 0;
        if (!Reader::takes(has_kinds ? annotations.region_kinds[row] : SegmentationKind::absent))
            throw std::invalid_argument("the segmentation of record " + std::to_string(record) + " is not " +
                                        std::string(Reader::kind));
    }
}

std::uint64_t end_of(const Annotations& annotations, std::int64_t record) {
    const auto row = static_cast<std::size_t>(record);
    return annotations.region_bytes[row] + annotations.region_lengths[row];
}

// Behind the last record from `first` on that is worth reading together with it: they follow each other in the file.
std::size_t find_last_near(const Annotations& annotations, std::span<const std::int64_t> records, std::size_t first) {
    constexpr std::uint64_t most_bytes = std::uint64_t{1} << 20;
    const std::uint64_t limit = annotations.region_bytes[static_cast<std::size_t>(records[first])] + most_bytes;
    std::size_t last = first + 1;
    while (last < records.size() && records[last] > records[last - 1] && end_of(annotations, records[last]) <= limit)
        ++last;
    return last;
}

template <class Reader>
void read_some(const Content& content, const Document& document, std::span<const std::int64_t> records,
               Reader& reader) {
    const Annotations& annotations = document.annotations;
    std::size_t bytes = 0;
    for (const std::int64_t record : records) bytes += annotations.region_lengths[static_cast<std::size_t>(record)];
    reader.reserve(bytes);
    Scanner in({});
    Array<char> room;
    Pause pause(64);
    for (std::size_t i = 0, last = 0; i < records.size(); ++i) {
        pause();
        const std::int64_t record = records[i];
        const std::uint64_t byte = annotations.region_bytes[static_cast<std::size_t>(record)];
        if (i >= last) {
            last = find_last_near(annotations, records, i);
            in.look_at(content.read(byte, end_of(annotations, records[last - 1]), room), byte);
        }
        try {
            in.at = in.at_byte(byte);
            reader.read(in);
        } catch (const Defect& defect) {
            throw ParseError(defect, {document.section_of_annotations(), record, "segmentation"});
        }
    }
}

// Shares the records out in equal parts. The first part that fails has the first error.
template <class Reader>
auto read_regions(const Content& content, const Document& document, std::span<const std::int64_t> records,
                  const RegionLimits& limits, unsigned threads) {
    check_records<Reader>(document.annotations, records);
    constexpr std::size_t least_records = 256;  // a thread for fewer costs more than it brings
    const std::size_t parts = std::clamp<std::size_t>(records.size() / least_records, 1, std::max(threads, 1u));
    std::vector<Reader> readers;
    for (std::size_t part = 0; part < parts; ++part) readers.emplace_back(limits);
    std::vector<std::exception_ptr> failures(parts);
    run_on_threads(parts, [&](std::size_t part) {
        const std::size_t first = records.size() * part / parts, last = records.size() * (part + 1) / parts;
        try {
            read_some(content, document, records.subspan(first, last - first), readers[part]);
        } catch (...) {
            failures[part] = std::current_exception();
        }
    });
    for (const auto& failure : failures)
        if (failure) std::rethrow_exception(failure);
    for (std::size_t part = 1; part < parts; ++part) readers[0].append(readers[part]);
    return readers[0].take();
}

}  // namespace

Polygons read_polygons(const Content& content, const Document& document, std::span<const std::int64_t> records,
                       const RegionLimits& limits, unsigned threads) {
    return read_regions<PolygonReader>(content, document, records, limits, threads);
}

RLEMasks read_runs(const Content& content, const Document& document, std::span<const std::int64_t> records,
                   const RegionLimits& limits, unsigned threads) {
    return read_regions<RunReader>(content, document, records, limits, threads);
}

}  // namespace verite::json

// Ids, positions and digests for Python.
#include "bind/arrays.hpp"
#include "columns/digest.hpp"
#include "columns/lookup.hpp"
#include "json/number_lines.hpp"

namespace verite {
namespace {

using namespace nb::literals;

nb::typed<nb::tuple, nb::ndarray<nb::numpy, std::int32_t>, std::size_t> find_positions_(
    const Column1<std::int64_t>& ids, const Column1<std::int64_t>& table, unsigned threads) {
    Array<std::int32_t> positions(ids.size());
    std::size_t unknown;
    {
        nb::gil_scoped_release released;
        unknown = find_positions(span_of(ids), span_of(table), positions, threads);
    }
    return nb::make_tuple(to_numpy(std::move(positions)), unknown);
}

auto mark_used_(const Column1<std::int32_t>& positions, std::size_t count) {
    Column<bool> used;
    mark_used(span_of(positions), {used.extend(count), count});
    used.keep_more(count);
    return to_numpy(std::move(used));
}

auto rows_at_(const Column1<std::int32_t>& positions, const Column1<bool>& wanted) {
    return to_numpy(rows_at(span_of(positions), flags_of(wanted)));
}

// A matrix with a row per line of numbers, the numbers and lengths of these lines, and the numbers of other lines.
ArraysOf<double, std::int64_t, std::int32_t, std::int64_t> read_number_lines_(const nb::bytes& text,
                                                                              const std::string& separator,
                                                                              std::size_t columns) {
    expect(separator.size() == 1, "a separator of one character");
    expect(columns > 0, "at least one column");
    NumberLines found;
    {
        std::string padded(number_padding, '\0');
        padded.append(text.c_str(), text.size());
        padded.append(number_padding, '\0');
        nb::gil_scoped_release released;
        found = read_number_lines(padded, separator[0], columns);
    }
    const std::size_t rows = found.line.size();
    return nb::make_tuple(to_numpy(std::move(found.values), {rows, columns}), to_numpy(std::move(found.line)),
                          to_numpy(std::move(found.count)), to_numpy(std::move(found.other)));
}

// Anything whose memory can be looked at: bytes, or an array without gaps.
std::uint64_t digest_(const Buffer& thing) {
    Py_buffer buffer;
    if (PyObject_GetBuffer(thing.ptr(), &buffer, PyBUF_C_CONTIGUOUS) != 0) throw nb::python_error();
    const std::uint64_t found =
        digest({static_cast<const std::byte*>(buffer.buf), static_cast<std::size_t>(buffer.len)});
    PyBuffer_Release(&buffer);
    return found;
}

}  // namespace

void register_tables(nb::module_& module) {
    module.def("find_positions", &find_positions_, "ids"_a, "table"_a, "threads"_a = 1,
               "The position of each id in a table, -1 where it is not, and how many are not.");
    module.def("mark_used", &mark_used_, "positions"_a, "count"_a, "Which of `count` rows positions point at.");
    module.def("rows_at", &rows_at_, "positions"_a, "wanted"_a, "The objects whose position is wanted, in order.");
    module.def(
        "read_number_lines", &read_number_lines_, "text"_a, "separator"_a, "columns"_a,
        "Numbers of text lines as a matrix (nan behind a short line), the number and the length of each of these "
        "lines, and the numbers of the lines that are anything else.");
    module.def("digest", &digest_, "thing"_a, "XXH64 of the bytes of anything with a buffer.");
}

}  // namespace verite

// What is read off curves, as Python has it.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include <tuple>
#include <vector>

#include "evaluation/readings.hpp"

namespace verite {

namespace nb = nanobind;

// Of every class: areas by their names, truths, right and wrong predictions, the best F1 and its confidence.
using ReadingList =
    nb::typed<nb::list, std::tuple<nb::typed<nb::dict, nb::str, double>, int, int, int, double, double>>;

inline ReadingList list_readings(const std::vector<Reading>& found) {
    nb::list listed;
    for (const auto& [areas, truths, right, wrong, f1, confidence] : found) {
        nb::dict named;
        named["all"] = areas.every;
        named["11"] = areas.eleven;
        named["101"] = areas.hundred;
        named["raw"] = areas.raw;
        named["trapezoid"] = areas.trapezoid;
        named["sloped"] = areas.sloped;
        listed.append(nb::make_tuple(named, truths, right, wrong, f1, confidence));
    }
    return listed;
}

}  // namespace verite

// Curve summaries for Python.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include "bind/arrays.hpp"
#include "evaluation/curve_summary.hpp"

namespace verite {

inline void register_curve_summary(nb::module_& module) {
    nb::class_<CurveSummary>(module, "CurveSummary", "Average precision and best F1 of one precision-recall curve.")
        .def_prop_ro(
            "average_precision",
            [](const CurveSummary& summary) -> nb::typed<nb::dict, nb::str, double> {
                nb::dict named;
                named["all"] = summary.ap.all_points;
                named["11"] = summary.ap.eleven_points;
                named["101"] = summary.ap.hundred_one;
                named["raw"] = summary.ap.raw;
                named["trapezoid"] = summary.ap.trapezoid;
                named["sloped"] = summary.ap.sloped_trapezoid;
                return named;
            },
            "By interpolation: all, 11, 101, raw, trapezoid, sloped.")
        .def_ro("truths", &CurveSummary::truths, "Ground-truth objects that are not ignored.")
        .def_ro("tp", &CurveSummary::tp, "True positives.")
        .def_ro("fp", &CurveSummary::fp, "False positives.")
        .def_ro("best_f1", &CurveSummary::best_f1)
        .def_ro("f1_confidence", &CurveSummary::f1_confidence, "The confidence threshold of the best F1.");
}

}  // namespace verite

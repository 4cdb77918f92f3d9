// Do predictions fit their truth so well, in a sample of the images, that they cannot have been misread?
#pragma once

#include <cstdint>
#include <vector>

#include "columns/census.hpp"

namespace verite {

// How much of the truth must be found.
struct FitRules {
    std::size_t images = 128,
                per_image = 100;           // what is looked at: evenly spaced images, the most confident predictions
    double found = 0.5, precise = 0.75;    // overlaps from which a truth is found, and found precisely
    double share = 0.5;                    // of the truths that can be found: to be found precisely
    double pixels = 2, most_small = 0.05;  // numbers up to so many pixels may be fractions; share of them that may be
    std::size_t fewest = 6;                // truths found from which their classes say something
    double taken_for = 0.75;               // share of a class that is found as one other: the two are exchanged
    double clone = 0.85, same = 0.999;  // overlaps between which suppression leaves one of two predictions of a class
    double as_sure = 0.5;               // ... or leaves it less than this part of its confidence
};

// A class most of whose objects are found as those of another one.
struct Exchange {
    std::int32_t label, as;
    std::size_t count, found;
};

struct SampleFit {
    std::size_t possible = 0, precise = 0, found = 0, agreeing = 0;
    // Most truths are found precisely, by predictions most of which have their class, with numbers too large to be
    // fractions. False says nothing.
    bool is_good = false;
    std::vector<Exchange> exchanges{};  // classes that go round in circles: each is found as the next
    std::size_t asked = 0;              // images with truths
    Tally unpredicted{};                // those of them that have no prediction ...
    double expected = 0;  // ... and how many would have none if predictions fell on truths independently of each other
    std::size_t looked_at = 0, clones = 0;  // predictions of the sample, and those that a surer one makes superfluous
    std::size_t right = 0, wrong = 0;       // predictions of the sample that find an object of their class, and others
    double surer = 0;  // pairs of a right and a wrong one in which the right one is surer; half where they are equal
};

// Crowds do not count; `images` is the number of images. Where predictions have no confidence nothing is good.
SampleFit sample_fit(const Surveyed& truth, const Surveyed& pred, std::size_t images, const FitRules& rules = {});

}  // namespace verite

#include "columns/poses.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include "columns/parallel.hpp"

namespace verite {
namespace {

constexpr double edge = 0.1;           // of an image's side
constexpr std::size_t sample = 500;    // ground-truth objects that are compared
constexpr double least_overlap = 0.5;  // of boxes of the same person

// Corners of one box, computed on demand.
std::array<double, 4> corners_of(const Regions& regions, std::size_t row) {
    const double* box = &regions.boxes[4 * row];
    if (regions.layout == BoxLayout::corners) return {box[0], box[1], box[2], box[3]};
    return {box[0], box[1], box[0] + box[2], box[1] + box[3]};
}

double overlap(const std::array<double, 4>& a, const std::array<double, 4>& b) {
    const double width = std::min(a[2], b[2]) - std::max(a[0], b[0]);
    const double height = std::min(a[3], b[3]) - std::max(a[1], b[1]);
    const double shared = std::max(width, 0.0) * std::max(height, 0.0);
    const auto area = [](const auto& box) { return (box[2] - box[0]) * (box[3] - box[1]); };
    return shared / (area(a) + area(b) - shared);
}

}  // namespace

PoseFaults find_pose_faults(const Columns& columns, const Images& images, bool is_truth, bool is_relative,
                            unsigned threads) {
    const auto& keypoints = columns.regions.keypoints;
    PoseFaults faults;
    std::vector<std::size_t> usual;
    std::size_t poses = 0;
    for (std::size_t i = 0; i < keypoints.size(); ++i) {
        const std::size_t count = keypoints[i].size();
        if (count == 0) continue;
        ++poses;
        const auto label = static_cast<std::size_t>(columns.label[i]);
        if (usual.size() <= label) usual.resize(label + 1, 0);
        if (usual[label] == 0) usual[label] = count;
        faults.miscounted += count != usual[label];
    }
    std::atomic<std::size_t> not_finite{0}, outside{0};
    std::atomic<bool> has_labelled{false};
    in_stretches(keypoints.size(), threads, [&](std::size_t first, std::size_t last) {
        std::size_t odd = 0, leaving = 0;
        bool any_labelled = false;
        for (std::size_t i = first; i < last; ++i) {
            const auto points = keypoints[i];
            const auto image = static_cast<std::size_t>(columns.image[i]);
            const bool is_known = is_relative || (image < images.count() && images.widths[image] > 0);
            const double width = is_relative ? 1 : is_known ? images.widths[image] : 0;
            const double height = is_relative ? 1 : is_known ? images.heights[image] : 0;
            const double left = -edge * width, right = (1 + edge) * width;
            const double top = -edge * height, bottom = (1 + edge) * height;
            // No branch on what differs from point to point.
            double differences = 0;  // 0 unless something is not finite
            bool is_outside = false, is_labelled = false;
            for (std::size_t k = 0; k < points.size(); k += 3) {
                const double x = points[k], y = points[k + 1], seen = points[k + 2];
                const double sum = x + y + seen;
                differences += sum - sum;
                is_labelled |= seen > 0;
                is_outside |= ((x < left) | (y < top) | (x > right) | (y > bottom)) & (!is_truth | (seen > 0));
            }
            any_labelled |= is_labelled;
            odd += differences != 0;
            leaving += is_outside && is_known;
        }
        not_finite += odd;
        outside += leaving;
        if (any_labelled) has_labelled = true;
    });
    faults.not_finite = not_finite;
    faults.outside = outside;
    if (is_truth && !has_labelled) faults.unlabelled = poses;
    return faults;
}

MirroredPoses find_mirrored_poses(const Columns& truth, const Columns& pred, std::size_t images,
                                  const std::vector<std::vector<std::int64_t>>& others) {
    MirroredPoses found;
    const auto &mine = pred.regions.keypoints, &theirs = truth.regions.keypoints;
    if (!mine || !theirs) return found;
    const std::size_t step = 1 + truth.count() / sample;
    std::vector<std::uint8_t> is_needed(images, 0);
    for (std::size_t i = 0; i < truth.count(); i += step) is_needed[static_cast<std::size_t>(truth.image[i])] = 1;
    std::vector<std::vector<std::size_t>> rows(images);
    for (std::size_t i = 0; i < pred.count(); ++i)
        if (const auto image = static_cast<std::size_t>(pred.image[i]); image < images && is_needed[image])
            rows[image].push_back(i);
    for (std::size_t i = 0; i < truth.count(); i += step) {
        const auto label = static_cast<std::size_t>(truth.label[i]);
        const auto points = theirs[i];
        if (label >= others.size() || others[label].size() * 3 != points.size()) continue;
        const auto around = corners_of(truth.regions, i);
        double best = least_overlap;
        const double* guess = nullptr;
        for (const std::size_t row : rows[static_cast<std::size_t>(truth.image[i])]) {
            if (pred.label[row] != truth.label[i] || mine[row].size() != points.size()) continue;
            const double shared = overlap(around, corners_of(pred.regions, row));
            if (shared >= best) best = shared, guess = mine[row].data();
        }
        if (!guess) continue;
        double plain = 0, swapped = 0;
        for (std::size_t k = 0; 3 * k < points.size(); ++k) {
            const auto other = static_cast<std::size_t>(others[label][k]);
            if (other == k || other * 3 >= points.size() || !(points[3 * k + 2] > 0)) continue;
            const auto distance = [&](std::size_t at) {
                return std::hypot(guess[3 * at] - points[3 * k], guess[3 * at + 1] - points[3 * k + 1]);
            };
            plain += distance(k), swapped += distance(other);
        }
        // In a pose seen from the side, left and right coincide and are no evidence.
        found.compared += swapped < plain / 2 || plain < swapped / 2;
        found.better += swapped < plain / 2;
    }
    return found;
}

}  // namespace verite

#include "json/coco.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "columns/memory.hpp"
#include "columns/parallel.hpp"
#include "columns/pause.hpp"
#include "json/pass.hpp"

namespace verite::json {

namespace {

std::int64_t records_in(const Document& document, DocumentSection section) {
    switch (section) {
        case DocumentSection::none:
            return 0;
        case DocumentSection::images:
            return static_cast<std::int64_t>(document.images.count);
        case DocumentSection::categories:
            return static_cast<std::int64_t>(document.categories.count);
        case DocumentSection::annotations:
            return static_cast<std::int64_t>(document.annotations.count);
    }
    return 0;
}

// A stretch of the file that was read before anyone knew whether a record really starts there.
struct Piece {
    Document document;
    std::optional<Position> start;  // nothing if no record was found, or one too large
    Position end;
    std::optional<Halt> stop;
};

// Pieces are read in any order and joined in file order. A piece counts only if what was joined before ends exactly
// where it guessed a record to start; a wrong guess is read again. So the result is that of one pass over the whole
// file, provided that no record is longer than what is read behind a piece.
class Reading {
  public:
    Reading(const Content& content, const ReadOptions& options)
        : content_(content),
          options_(options),
          slots_(1 + content.size() / options.piece_bytes),
          spine_(options.deepest) {}

    // Nothing if some record does not fit.
    std::optional<Document> run() {
        const std::size_t sample_bytes = std::min(options_.piece_bytes, std::size_t{1} << 16);
        spine_.look_at(read_up_to(sample_bytes, 0, room_), 0);
        spine_.open(document_);
        if (!spine_.stop()) spine_.run(sample_bytes);
        note_progress();
        run_on_threads(std::min<std::size_t>(options_.threads, slots_.size()), [this](std::size_t) { work(); });
        if (failure_) std::rethrow_exception(failure_);
        if (stop_ && !stop_->is_certain) return std::nullopt;
        if (stop_) throw ParseError(stop_->defect, {name_of(stop_->section), stop_->record, stop_->field});
        document_.other_keys.insert(spine_.other_keys().begin(), spine_.other_keys().end());
        document_.finish();
        return std::move(document_);
    }

  private:
    std::string name_of(DocumentSection section) const {
        switch (section) {
            case DocumentSection::none:
                return "";
            case DocumentSection::images:
                return "images";
            case DocumentSection::categories:
                return "categories";
            case DocumentSection::annotations:
                return document_.section_of_annotations();
        }
        return "";
    }

    struct Slot {
        bool is_read = false;
        std::unique_ptr<Piece> piece;  // nothing if the spine has read it
    };

    // What each thread does until nothing is left.
    void work() {
        try {
            Pass pass(options_.deepest);
            Array<char> room;
            Pause pause;
            while (const auto index = claim()) {
                pause();
                read_piece(*index, pass, room);
            }
            const std::lock_guard lock(mutex_);
            document_.other_keys.insert(pass.other_keys().begin(), pass.other_keys().end());
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (!failure_) failure_ = std::current_exception();
            progress_.notify_all();
        }
    }

    // The next piece to read. Waits while too many are waiting to be joined.
    std::optional<std::size_t> claim() {
        std::unique_lock lock(mutex_);
        const std::size_t most_waiting = 2 * options_.threads;
        const auto is_over = [&] { return failure_ || is_finished_ || claimed_ == slots_.size(); };
        progress_.wait(lock, [&] { return is_over() || claimed_ < joined_ + most_waiting; });
        if (is_over()) return std::nullopt;
        return claimed_++;
    }

    // Bytes from `first` on, and enough behind `last` for a record that starts before it.
    Stretch read_up_to(std::size_t last, std::size_t first, Array<char>& room) const {
        return content_.read(first, std::max(first, last) + options_.piece_bytes / 8 + 1, room);
    }

    void run_spine(std::size_t limit) {
        const std::size_t here = spine_.position().byte;
        if (here >= limit) return;
        spine_.look_at(read_up_to(limit, here, room_), here);
        spine_.run(limit);
    }

    void read_piece(std::size_t index, Pass& pass, Array<char>& room) {
        const std::size_t first = index * options_.piece_bytes;
        const std::size_t last = first + options_.piece_bytes;
        std::unique_ptr<Piece> piece;
        if (is_next(index)) {
            run_spine(last);
        } else {
            piece = spare_piece();
            read_ahead(first, last, pass, *piece, room);
        }
        const std::lock_guard lock(mutex_);
        slots_[index] = {true, std::move(piece)};
        join_pieces();
    }

    // If all before `index` is joined, only its reader touches the spine until it is handed in.
    bool is_next(std::size_t index) {
        const std::lock_guard lock(mutex_);
        return joined_ == index;
    }

    std::unique_ptr<Piece> spare_piece() {
        const std::lock_guard lock(mutex_);
        if (spares_.empty()) return std::make_unique<Piece>();
        std::unique_ptr<Piece> piece = std::move(spares_.back());
        spares_.pop_back();
        return piece;
    }

    void read_ahead(std::size_t first, std::size_t last, Pass& pass, Piece& piece, Array<char>& room) const {
        piece.document.clear();
        piece.document.is_results = document_.is_results;
        piece.start.reset();
        try {
            constexpr std::size_t before = 64;  // the bytes before a record show that it is one
            pass.look_at(read_up_to(last, first - std::min(first, before), room), first);
            pass.look_no_further_than(last + 4 * options_.piece_bytes);
            if (!pass.guess(first, last, piece.document)) return;
            piece.start = pass.position();
            pass.run(last);
            piece.end = pass.position();
            piece.stop = pass.stop();
        } catch (const TooFar&) {
            piece.start.reset();
        }
    }

    void join_pieces() {
        for (; joined_ < slots_.size() && slots_[joined_].is_read && !is_finished_; ++joined_) {
            if (auto piece = std::move(slots_[joined_].piece)) {
                join(*piece, (joined_ + 1) * options_.piece_bytes);
                spares_.push_back(std::move(piece));
            }
            note_progress();
        }
        progress_.notify_all();
    }

    void join(const Piece& piece, std::size_t limit) {
        const Position here = spine_.position();
        if (piece.start != here || !document_.agrees_with(piece.document)) return run_spine(limit);
        if (piece.stop) {
            stop_ = piece.stop;
            if (stop_->record >= 0) stop_->record += records_in(document_, stop_->section);
        }
        document_.append(piece.document);
        spine_.open_at(piece.end, document_);
    }

    void note_progress() {
        if (spine_.stop()) stop_ = spine_.stop();
        const Position here = spine_.position();
        is_finished_ = stop_ || here.is_at_end;
        Annotations& annotations = document_.annotations;
        if (annotations.count == 0) {
            annotations_start_ = here.byte;
        } else if (!has_reserved_ && !is_finished_) {
            // As many rows as the rest of the file holds if it goes on like this, and a few more.
            const double share = static_cast<double>(content_.size() - annotations_start_) /
                                 static_cast<double>(here.byte - annotations_start_);
            annotations.reserve(static_cast<std::size_t>(static_cast<double>(annotations.count) * share * 1.1));
            has_reserved_ = true;
        }
    }

    const Content& content_;
    const ReadOptions& options_;

    std::mutex mutex_;  // guards what follows
    std::condition_variable progress_;
    std::size_t claimed_ = 0, joined_ = 0;
    std::vector<Slot> slots_;
    std::vector<std::unique_ptr<Piece>> spares_;
    Pass spine_;
    Array<char> room_;  // for what the spine sees
    Document document_;
    std::optional<Halt> stop_;
    bool is_finished_ = false;
    std::size_t annotations_start_ = 0;
    bool has_reserved_ = false;
    std::exception_ptr failure_;
};

}  // namespace

Document read_coco(const Content& content, ReadOptions options) {
    for (;; options.piece_bytes *= 16)
        if (auto document = Reading(content, options).run()) return std::move(*document);
}

}  // namespace verite::json

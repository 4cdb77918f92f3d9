// Columns: growing arrays on huge pages, whose memory can be handed to another owner (numpy) without a copy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace verite {

inline constexpr std::size_t huge_page = std::size_t{2} << 20;

// Changes the size of a block of memory, keeping its content and leaving new bytes unset. A null block of 0 bytes is
// fine. Blocks from `huge_page` bytes up are made of huge pages where the system has them, unless there are many
// already: filling fresh 4 KiB pages runs at 1.5 GB/s here, filling huge ones at 10 GB/s.
void* resize_block(void* block, std::size_t old_bytes, std::size_t new_bytes);

inline void free_block(void* block, std::size_t bytes) { resize_block(block, bytes, 0); }

// A block that several columns share, so that small columns too get the benefit of huge pages.
std::shared_ptr<char> make_shared_block(std::size_t bytes);

// The value of a row that was never written: NaN or 0.
template <class T>
constexpr T absent_value() {
    if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::quiet_NaN();
    return T{};
}

// Rows of `width` values each. Rows may be left out; they read as absent once a later row is written.
template <class T, std::size_t width = 1>
class Column {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    Column() = default;
    Column(Column&& other) noexcept { swap(other); }
    Column& operator=(Column&& other) noexcept {
        swap(other);
        return *this;
    }
    ~Column() {
        if (!shared_) free_block(values_, capacity_ * row_bytes);
    }

    std::size_t rows() const { return rows_; }
    T* data() { return values_; }
    const T* data() const { return values_; }
    std::span<const T> values() const { return {values_, rows_ * width}; }
    const T& operator[](std::size_t i) const { return values_[i]; }

    static std::size_t bytes_for(std::size_t rows) { return (rows * row_bytes + 63) / 64 * 64; }

    // Makes room for this number of rows.
    void reserve(std::size_t rows) {
        if (rows > capacity_) resize(rows);
    }

    // Moves to a place in a shared block that has room for this number of rows.
    void move_to(const std::shared_ptr<char>& block, char* room, std::size_t rows) {
        Column moved;
        moved.shared_ = block;
        moved.values_ = reinterpret_cast<T*>(room);
        moved.capacity_ = rows;
        moved.append(values());
        swap(moved);
    }

    // The place of row `row`, to be written and then kept; what is not kept counts as never written.
    T* place(std::size_t row) {
        if (row != rows_ || row >= capacity_) [[unlikely]]
            make_room(row);
        return values_ + row * width;
    }
    void extend_to(std::size_t row) { rows_ = row + 1; }

    // Room for `rows` more rows, to be written and then kept.
    T* extend(std::size_t rows) {
        grow(rows_ + rows);
        return values_ + rows_ * width;
    }
    void keep_more(std::size_t rows) { rows_ += rows; }

    void put(std::size_t row, T value) {
        *place(row) = value;
        extend_to(row);
    }

    void push(T value) { put(rows_, value); }

    void append(std::span<const T> rows) {
        if (rows.empty()) return;
        const std::size_t count = rows.size() / width;
        std::memcpy(extend(count), rows.data(), rows.size_bytes());
        keep_more(count);
    }

    // Writes rows up to `rows` as absent.
    void pad(std::size_t rows) {
        grow(rows);
        for (; rows_ < rows; ++rows_) std::fill_n(values_ + rows_ * width, width, absent_value<T>());
    }

    void clear() { rows_ = 0; }
    void cut(std::size_t rows) { rows_ = std::min(rows_, rows); }

    // Gives back the room behind the last row, where it is more than small change.
    void shrink() {
        constexpr std::size_t least = huge_page / row_bytes + 1;
        if (!shared_ && capacity_ > least) resize(std::max(rows_, least));
    }

  private:
    static constexpr std::size_t row_bytes = sizeof(T) * width;

    void swap(Column& other) noexcept {
        std::swap(values_, other.values_);
        std::swap(rows_, other.rows_);
        std::swap(capacity_, other.capacity_);
        std::swap(shared_, other.shared_);
    }

    void resize(std::size_t capacity) {
        if (shared_) return leave_shared_block(capacity);
        values_ = static_cast<T*>(resize_block(values_, capacity_ * row_bytes, capacity * row_bytes));
        capacity_ = capacity;
    }

    void leave_shared_block(std::size_t capacity) {
        Column moved;
        moved.resize(capacity);
        moved.append(values());
        swap(moved);
    }

    void grow(std::size_t rows) {
        if (rows > capacity_) resize(std::max({rows, capacity_ * 2, std::size_t{64}}));
    }

    void make_room(std::size_t row) {
        pad(row);
        grow(row + 1);
    }

    T* values_ = nullptr;
    std::size_t rows_ = 0, capacity_ = 0;
    std::shared_ptr<char> shared_;  // owns the values, if set
};

// Rows of any length: all values one after the other, and where each row starts (with one more at the end).
template <class T>
class RaggedColumn {
  public:
    Column<T> values;

    std::size_t rows() const { return starts_.rows() == 0 ? 0 : starts_.rows() - 1; }
    const Column<std::int64_t>& starts() const { return starts_; }
    Column<std::int64_t>& starts() { return starts_; }
    std::span<const T> operator[](std::size_t row) const {
        return {values.data() + starts_[row], static_cast<std::size_t>(starts_[row + 1] - starts_[row])};
    }

    // Rows before `row` that were never written end where values now end; call before adding the values of `row`.
    void pad(std::size_t row) {
        while (starts_.rows() <= row) end_row();
    }

    // Everything added to `values` since the row before belongs to this row.
    void end_row() { starts_.push(static_cast<std::int64_t>(values.rows())); }

    void append(const RaggedColumn& other, std::size_t first_row) {
        if (other.rows() == 0) return;
        pad(first_row);
        const auto base = static_cast<std::int64_t>(values.rows());
        values.append(other.values.values());
        for (const std::int64_t start : other.starts_.values().subspan(1)) starts_.push(base + start);
    }

    void clear() {
        values.clear();
        starts_.clear();
    }

    void shrink() {
        values.shrink();
        starts_.shrink();
    }

  private:
    Column<std::int64_t> starts_;
};

}  // namespace verite

#include "json/document.hpp"

#include <algorithm>
#include <type_traits>

namespace verite::json {

namespace {

template <class Table>
bool tables_agree(const Table& first, const Table& next) {
    bool agrees = true;
    Table::visit_ids([&](auto ids) { agrees = agrees && (first.*ids).agrees_with(next.*ids); });
    return agrees;
}

template <class Table>
void append_table(Table& table, const Table& next) {
    Table::visit_columns([&](auto column) {
        if ((next.*column).rows() == 0) return;
        (table.*column).pad(table.count);
        (table.*column).append((next.*column).values());
    });
    Table::visit_ids([&](auto ids) { (table.*ids).append(next.*ids, table.count); });
    Table::visit_ragged([&](auto ragged) { (table.*ragged).append(next.*ragged, table.count); });
    table.presence.append(next.presence);
    table.count += next.count;
}

template <class Table>
void finish_table(Table& table) {
    Table::visit_columns([&](auto column) {
        if ((table.*column).rows() > 0) (table.*column).pad(table.count);
        (table.*column).shrink();
    });
    Table::visit_ids([&](auto ids) { (table.*ids).finish(table.count); });
    Table::visit_ragged([&](auto ragged) {
        if (!std::is_same_v<Table, Annotations> || (table.*ragged).values.rows() > 0) (table.*ragged).pad(table.count);
        (table.*ragged).shrink();
    });
    table.presence.fields.shrink();
}

template <class Table>
void clear_table(Table& table) {
    Table::visit_columns([&](auto column) { (table.*column).clear(); });
    Table::visit_ids([&](auto ids) { (table.*ids).clear(); });
    Table::visit_ragged([&](auto ragged) { (table.*ragged).clear(); });
    table.presence.clear();
    table.count = 0;
}

}  // namespace

bool Document::agrees_with(const Document& next) const {
    const bool repeats_key =
        std::any_of(next.keys.begin(), next.keys.end(), [&](const auto& key) { return keys.contains(key); });
    return !repeats_key && tables_agree(images, next.images) && tables_agree(categories, next.categories) &&
           tables_agree(annotations, next.annotations);
}

void Document::append(const Document& next) {
    keys.insert(next.keys.begin(), next.keys.end());
    append_table(images, next.images);
    append_table(categories, next.categories);
    append_table(annotations, next.annotations);
}

void Document::finish() {
    finish_table(images);
    finish_table(categories);
    finish_table(annotations);
}

void Document::clear() {
    keys.clear();
    clear_table(images);
    clear_table(categories);
    clear_table(annotations);
}

}  // namespace verite::json

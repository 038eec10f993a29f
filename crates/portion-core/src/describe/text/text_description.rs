//! Builds the description of a text within a token budget: members, lists, and facts of a table.

use std::collections::HashMap;

use portion_tokens::TokenCounter;
use serde_json::{Map, Value};

use crate::snapshot::{FieldType, ItemsTable, ListFacts};

/// Description of a text under construction.
///
/// A fact costs its tokens as JSON on its own, which is at least about its cost among the others.
pub(super) struct TextDescription<'a> {
    counter: &'a dyn TokenCounter,
    max_tokens: usize,
    remaining_tokens: usize,
    facts: Map<String, Value>,
}

impl<'a> TextDescription<'a> {
    pub(super) fn new(counter: &'a dyn TokenCounter, tokens: usize) -> Self {
        // Two tokens for the braces.
        Self { counter, max_tokens: tokens, remaining_tokens: tokens.saturating_sub(2), facts: Map::new() }
    }

    /// Returns the tokens that are left.
    pub(super) fn remaining(&self) -> usize {
        self.remaining_tokens
    }

    /// Returns the characters of a quoted line: more if the budget allows several.
    pub(super) fn max_quote_chars(&self) -> usize {
        (self.max_tokens / 2).clamp(60, 160)
    }

    /// Returns the tokens of a value and the following comma.
    pub(super) fn value_cost(&self, value: &Value) -> usize {
        self.counter.count(&value.to_string()).saturating_add(1)
    }

    /// Returns the tokens of a text in a list. A separator between two items is one token.
    pub(super) fn list_item_cost(&self, text: &str) -> usize {
        let json = Value::from(text).to_string();
        self.counter.count(json.trim_matches('"')).saturating_add(1)
    }

    /// Returns the tokens of a value under its key.
    pub(super) fn member_cost(&self, key: &str, value: &Value) -> usize {
        self.counter.count(&format!("{key:?}:")).saturating_add(self.value_cost(value))
    }

    /// Returns the facts about fields that fit this many tokens as the value of a member.
    pub(super) fn field_facts(&self, facts: &ListFacts, tokens: usize) -> Map<String, Value> {
        facts.describe(self.counter, tokens.saturating_sub(MEMBER_OVERHEAD_TOKENS))
    }

    /// Adds a fact if it fits.
    pub(super) fn add(&mut self, key: &str, value: impl Into<Value>) -> bool {
        let value = value.into();
        let cost = self.member_cost(key, &value);
        let fits = cost <= self.remaining_tokens;
        if fits {
            self.remaining_tokens -= cost;
            self.facts.insert(key.to_owned(), value);
        }
        fits
    }

    /// Adds as many of the values as fit the token budget, from the first; `+7 more` replaces the rest.
    pub(super) fn add_list(&mut self, key: &str, values: &[String], tokens: usize) -> bool {
        let mut remaining = tokens.min(self.remaining_tokens).saturating_sub(LIST_OVERHEAD_TOKENS);
        let mut shown: Vec<Value> = Vec::new();
        for value in values {
            let Some(rest) = remaining.checked_sub(self.list_item_cost(value)) else { break };
            remaining = rest;
            shown.push(value.as_str().into());
        }
        if shown.is_empty() {
            return false;
        }
        if shown.len() < values.len() {
            shown.push(more_marker(values.len() - shown.len()));
        }
        self.add(key, shown)
    }

    /// Returns all facts.
    pub(super) fn finish(mut self) -> Map<String, Value> {
        while !self.facts.is_empty()
            && self.counter.count(&Value::Object(self.facts.clone()).to_string()) > self.max_tokens
        {
            let last = self.facts.keys().next_back().cloned().unwrap_or_default();
            self.facts.shift_remove(&last);
        }
        self.facts
    }
}

/// Tokens of a member's key and the comma behind it.
const MEMBER_OVERHEAD_TOKENS: usize = 6;

/// Tokens of a list's key, its brackets and the marker of omitted items.
pub(super) const LIST_OVERHEAD_TOKENS: usize = 14;

/// Returns the marker of omitted items.
pub(super) fn more_marker(count: usize) -> Value {
    format!("+{count} more").into()
}

/// Returns a line without surrounding white space, truncated to `width` characters.
pub(super) fn truncated_line(line: &str, width: usize) -> String {
    let trimmed = line.trim();
    match trimmed.char_indices().nth(width) {
        Some((end, _)) => format!("{}…", trimmed[..end].trim_end()),
        None => trimmed.to_owned(),
    }
}

/// Returns the last `width` characters of a text, beginning with a word, each run of white space as one
/// space.
pub(super) fn closing_words(text: &str, width: usize) -> String {
    let trimmed = text.trim_end();
    // White space may fill much of the end of the text, so twice the width is read.
    let start = trimmed.char_indices().rev().nth(2 * width).map_or(0, |(at, _)| at);
    let words: Vec<_> = trimmed[start..].split_whitespace().collect();
    let near = words.join(" ");
    let Some((at, _)) = near.char_indices().rev().nth(width.saturating_sub(1)) else {
        return if start == 0 { near } else { format!("…{near}") };
    };
    if at == 0 && start == 0 {
        return near;
    }
    let tail = &near[at..];
    // Scripts without spaces have no word boundary, and one long word is cut anywhere.
    let word = tail.find(' ').filter(|space| *space < tail.len() / 4).map_or(0, |space| space + 1);
    format!("…{}", &tail[word..])
}

/// Longest closing excerpt, in characters.
const MAX_CLOSING_CHARS: usize = 150;

/// Returns the last line that is not blank.
pub(super) fn last_line(text: &str) -> &str {
    let trimmed = text.trim_end();
    trimmed.rsplit('\n').next().unwrap_or_default()
}

/// Returns the end of a running text, shorter in scripts with more tokens per character.
pub(super) fn closing_excerpt(text: &str, description: &TextDescription) -> Value {
    let width = description.max_quote_chars().min(MAX_CLOSING_CHARS);
    let all = Value::from(closing_words(text, width));
    if description.value_cost(&all) <= width / 2 { all } else { closing_words(text, width * 2 / 3).into() }
}

/// Characters of the names of columns that a token holds, about.
const CHARS_PER_TOKEN: usize = 3;

/// Describes a table. `reserved` tokens are left for other facts.
pub(super) fn describe_table(table: &ItemsTable, reserved: usize, description: &mut TextDescription) {
    let columns: Vec<&String> = table.columns.iter().collect();
    describe_rows(table.row_count, &columns, &table.facts, reserved, description);
}

/// Describes rows by the facts about their columns, and names the columns without facts.
pub(super) fn describe_rows(
    row_count: usize,
    columns: &[&String],
    facts: &ListFacts,
    reserved: usize,
    description: &mut TextDescription,
) {
    description.add("rows", row_count);
    let types = facts.field_types();
    let names: usize = columns.iter().map(|name| name.len() + 1).sum();
    // Names without facts take less; a quarter is kept for those that have no place among the facts.
    let room = |description: &TextDescription| description.remaining().saturating_sub(reserved);
    let kept = (names / CHARS_PER_TOKEN).min(room(description) / 4);
    let facts = description.field_facts(facts, room(description).saturating_sub(kept));
    let others: Vec<&String> =
        columns.iter().copied().filter(|name| !facts.contains_key(name.as_str())).collect();
    if !facts.is_empty() {
        description.add("columns", facts);
    }
    let mut characters = room(description) * CHARS_PER_TOKEN;
    let key = if others.len() < columns.len() { "moreColumns" } else { "columns" };
    while !others.is_empty()
        && characters > 0
        && !description.add(key, fields_by_type(&others, &types, characters))
    {
        characters = characters * 3 / 4;
    }
}

/// Name of the group of fields whose type is not known.
const UNKNOWN_TYPE: &str = "other";
/// Member that counts the fields that are not named.
const UNNAMED_KEY: &str = "more";

/// Names of the fields of one type, with the fields of one object written together.
#[derive(Default)]
struct FieldGroup<'a> {
    /// Object and its fields, in the order of the first one.
    objects: Vec<(&'a str, Vec<&'a str>)>,
}

/// Returns the fields by type, in at most this many characters: `{"number":"size,owner.{id,age}","more":12}`.
pub(crate) fn fields_by_type(
    names: &[&String],
    types: &HashMap<String, FieldType>,
    characters: usize,
) -> Map<String, Value> {
    let mut groups: Vec<(&'static str, FieldGroup<'_>)> = Vec::new();
    let mut left = characters;
    let mut unnamed = 0;
    for name in names {
        let kind = types.get(name.as_str()).map_or(UNKNOWN_TYPE, |kind| kind.name());
        let place = groups.iter().position(|(known, _)| *known == kind);
        let cost = place.map_or(kind.len() + 6 + name.len(), |place| groups[place].1.cost(name));
        let Some(rest) = left.checked_sub(cost).filter(|_| unnamed == 0) else {
            unnamed += 1;
            continue;
        };
        left = rest;
        let place = place.unwrap_or_else(|| {
            groups.push((kind, FieldGroup::default()));
            groups.len() - 1
        });
        groups[place].1.add(name);
    }
    let mut fields: Map<String, Value> =
        groups.into_iter().map(|(kind, group)| (kind.to_owned(), group.text().into())).collect();
    if unnamed > 0 {
        fields.insert(UNNAMED_KEY.to_owned(), unnamed.into());
    }
    fields
}

impl<'a> FieldGroup<'a> {
    /// Adds a field.
    fn add(&mut self, name: &'a str) {
        let (object, own) = split_name(name);
        match self.objects.iter_mut().find(|(known, _)| *known == object && !object.is_empty()) {
            Some((_, fields)) => fields.push(own),
            None => self.objects.push((object, vec![own])),
        }
    }

    /// Returns the characters that a further field takes.
    fn cost(&self, name: &str) -> usize {
        let (object, own) = split_name(name);
        let is_known = !object.is_empty() && self.objects.iter().any(|(known, _)| *known == object);
        2 + if is_known { own.len() } else { name.len() }
    }

    /// Returns the names: `size,owner.{id,age}`.
    fn text(&self) -> String {
        let written = |(object, fields): &(&str, Vec<&str>)| match (object.is_empty(), fields.as_slice()) {
            (true, fields) => fields.join(","),
            (false, [field]) => format!("{object}.{field}"),
            (false, fields) => format!("{object}.{{{}}}", fields.join(",")),
        };
        self.objects.iter().map(written).collect::<Vec<_>>().join(",")
    }
}

/// Returns the object and the name of a field in it: `owner`, `id`. A name that could be read as several stays whole.
fn split_name(name: &str) -> (&str, &str) {
    let is_plain = !name.contains([',', '{', '}']);
    name.rsplit_once('.')
        .filter(|(object, own)| is_plain && !object.is_empty() && !own.is_empty())
        .unwrap_or(("", name))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::{Map, Value, json};

    use super::fields_by_type;
    use crate::snapshot::FieldType;

    /// Returns the fields by type, where a name with `id` is a number and one with `name` a string.
    fn by_type(names: &[&str], characters: usize) -> Map<String, Value> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let types: HashMap<String, FieldType> = names
            .iter()
            .filter(|name| name.ends_with("id") || name.ends_with("name"))
            .map(|name| {
                (name.clone(), if name.ends_with("id") { FieldType::Number } else { FieldType::String })
            })
            .collect();
        fields_by_type(&names.iter().collect::<Vec<_>>(), &types, characters)
    }

    #[test]
    fn fields_of_one_object_are_written_together() {
        let fields =
            by_type(&["id", "user.name", "user.id", "full_name", "user.full_name", "team.id", "x"], 200);
        let expected = json!({"number": "id,user.id,team.id", "string": "user.{name,full_name},full_name", "other": "x"});
        assert_eq!(Value::Object(fields), expected);
    }

    #[test]
    fn fields_that_do_not_fit_are_counted() {
        let fields = by_type(&["id", "a.id", "b.id", "c.id"], 20);
        assert_eq!(Value::Object(fields), json!({"number": "id,a.id", "more": 2}));
        assert_eq!(Value::Object(by_type(&["id"], 0)), json!({"more": 1}));
    }

    #[test]
    fn ambiguous_names_stay_whole() {
        let fields = by_type(&["a.b,id", "a.{id", "a..id", ".id", "a.id"], 200);
        assert_eq!(Value::Object(fields), json!({"number": "a.b,id,a.{id,a..id,.id,a.id"}));
    }
}

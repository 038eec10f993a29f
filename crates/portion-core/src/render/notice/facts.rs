//! Members of a notice that report facts: about the answer, the whole, and what is missing.

use serde_json::{Map, Value, json};

use super::{Audience, Detail, MAX_MINIMAL_BYTES, MAX_NAMED_PARTS, Notice};
use crate::describe::fields_by_type;
use crate::paging::UnshownRange;
use crate::policy::MetadataStyle;
use crate::render::meta::{MetaKey, NameList};
use crate::render::portion::PortionKind;
use crate::render::rendering::{NoticeExtra, StrippedFields};
use crate::snapshot::Part;

/// Characters shown of the name of a redacted or stripped field.
const MAX_FIELD_NAME_CHARS: usize = 60;

/// Reason that fields are left out on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OmissionReason {
    /// Noise by a rule of the operator.
    Stripped,
    /// Null in every record.
    Null,
    /// Hidden from this caller.
    Redacted,
}

impl OmissionReason {
    /// Returns the key in the notice.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Stripped => "stripped",
            Self::Null => "nulls",
            Self::Redacted => "redacted",
        }
    }
}

impl Notice<'_> {
    /// Returns the facts about an answer.
    pub(super) fn answer_members(&self, audience: Audience) -> Vec<(String, Value)> {
        let Some(answer) = self.answer else { return Vec::new() };
        let mut members = vec![("matches".to_owned(), answer.match_count.into())];
        if answer.word_match_count > 0 {
            members.push(("wordMatches".into(), answer.word_match_count.into()));
        }
        let is_counted = audience == Audience::Programs || self.next_cursor.is_some();
        let returned = self.rendering.meta.served.filter(|_| is_counted);
        members.extend(returned.map(|served| ("returned".into(), served.into())));
        members.extend(answer.extra_meta.iter().map(|(key, value)| (key.clone(), value.clone())));
        members
    }

    /// Returns the members that describe the whole.
    pub(super) fn description_members(&self, audience: Audience) -> Vec<(&'static str, Value)> {
        let mut members = Vec::new();
        let facts = self.facts.filter(|facts| !facts.is_empty());
        members.extend(facts.map(|facts| ("about", facts.clone().into())));
        if self.answer.is_some() {
            return members;
        }
        let outlined = self.facts.is_some_and(|about| about.contains_key("outline"));
        // The outline has the headings, and a summary shows what it has.
        let is_known = |extra: &&NoticeExtra| match extra {
            NoticeExtra::Headings(_) => outlined,
            NoticeExtra::Condensed(_) => audience == Audience::Model,
            NoticeExtra::MimeType(_) => false,
        };
        members
            .extend(self.rendering.extras.iter().filter(|extra| !is_known(extra)).map(NoticeExtra::member));
        if let Some((fields, characters)) = &self.rendering.available_fields {
            let (known, unknown) = self.known_fields(fields);
            match self.field_types.filter(|_| audience == Audience::Model) {
                // A model finds the described fields in the description.
                Some(_) if unknown.is_empty() => {}
                Some(types) => {
                    members.push(("moreFields", fields_by_type(&unknown, types, *characters).into()));
                }
                None => {
                    let names: Vec<&String> = unknown.into_iter().chain(known).collect();
                    members.push(("fieldsAvailable", fields_available(fields, &names, *characters)));
                }
            }
        }
        members
    }

    /// Returns the sizes of the parts that are not shown. Of those that a walk or a query reaches anyway, a model learns a few.
    pub(super) fn parts_not_shown(&self, detail: Detail, audience: Audience) -> Map<String, Value> {
        let described = |(path, bytes): &(String, usize)| {
            let is_own = |part: &&Part| {
                part.address
                    .strip_prefix(path.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest == "/text")
            };
            let name = self.parts.iter().find(is_own).and_then(Part::name);
            let name = name.map_or_else(String::new, |name| format!("{name}, "));
            (path.clone(), json!(format!("{name}{bytes} bytes")))
        };
        let is_reached =
            audience == Audience::Model && self.block_tables.is_some() && self.next_cursor.is_some();
        // Without a next page or sections, the next call needs a path.
        let needs_path = self.next_cursor.is_none() && self.rendering.sections.is_none();
        let max = match detail {
            Detail::Minimal => usize::from(needs_path),
            _ if is_reached => 2,
            _ => MAX_NAMED_PARTS,
        };
        let has_room =
            |(path, _): &&(String, usize)| detail < Detail::Minimal || path.len() <= MAX_MINIMAL_BYTES;
        let named: Vec<_> = self.missing_parts.iter().filter(has_room).take(max).collect();
        let more = self.missing_parts.len() - named.len();
        let mut parts: Map<String, Value> = named.into_iter().map(described).collect();
        if more > 0 {
            parts.insert("more".into(), more.into());
        }
        parts
    }

    /// Fields that were left out on purpose, by reason.
    pub(super) fn omitted_fields(&self) -> [(OmissionReason, &[String]); 3] {
        let StrippedFields { named, nulls } = &self.rendering.stripped;
        [
            (OmissionReason::Stripped, named),
            (OmissionReason::Null, nulls),
            (OmissionReason::Redacted, self.redacted_fields),
        ]
    }

    /// Returns the page number, in the style with numbered pages, and the number of the next page if this
    /// page is complete, or null at the end.
    pub(super) fn page_numbers(&self) -> Vec<(&'static str, Value)> {
        let meta = &self.rendering.meta;
        let page = || {
            let size = meta.page_size.filter(|size| *size > 0)?;
            Some((self.rendering.total_count?, size, meta.offset?, meta.served?))
        };
        let numbered = self.key_style == MetadataStyle::Snake && self.kind() == PortionKind::Page;
        let Some((total, size, offset, served)) = page().filter(|_| numbered) else { return Vec::new() };
        let end = offset.saturating_add(served);
        // An empty page ends the walk, also where further items could not be fetched.
        let next = match (end < total && served > 0, end % size) {
            (true, 0) => Some((end / size + 1).into()),
            (true, _) => None,
            (false, _) => Some(Value::Null),
        };
        let numbers = [("totalCount", total.into()), ("currentPage", (offset / size + 1).into())];
        numbers.into_iter().chain(next.map(|next| ("nextPage", next))).collect()
    }

    /// Returns the field names that the facts contain, and the others.
    fn known_fields<'f>(&self, fields: &'f [String]) -> (Vec<&'f String>, Vec<&'f String>) {
        fields.iter().partition(|name| self.facts.is_some_and(|facts| facts.contains_key(name.as_str())))
    }

    /// Returns true if the members of the answer already contain this value.
    pub(super) fn is_redundant_in_answer(&self, key: MetaKey) -> bool {
        match key {
            MetaKey::Served | MetaKey::PageSize => true,
            MetaKey::HasMore => self.next_cursor.is_none(),
            MetaKey::Offset => self.rendering.meta.offset == Some(0),
            _ => false,
        }
    }
}

/// Describes the items or bytes that the previous page did not show, with the cursor that returns them. The
/// shortest notice omits the cursor: they directly precede this page, and `meta.cursor` with an offset or a
/// line reaches them.
pub(super) fn unshown_object(not_shown: &UnshownRange, detail: Detail) -> Map<String, Value> {
    let UnshownRange { offset, count, cursor: next } = not_shown;
    let mut told = Map::new();
    if let Some(offset) = offset {
        told.insert("offset".into(), (*offset).into());
    }
    told.insert(if offset.is_some() { "items" } else { "bytes" }.into(), (*count).into());
    if let Some(next) = next.as_ref().filter(|_| detail < Detail::Minimal) {
        told.insert("cursor".into(), next.as_str().into());
    }
    told
}

/// Returns field names. If not all of `fields` fit, the names in `ordered` come in that order.
fn fields_available(fields: &[String], ordered: &[&String], characters: usize) -> Value {
    let all: usize = fields.iter().map(|name| name.len() + 3).sum();
    if all <= characters && ordered.len() == fields.len() {
        return NameList::new(fields.iter().cloned(), characters).to_json();
    }
    NameList::new(ordered.iter().map(|name| (*name).clone()), characters).to_json()
}

/// Returns the source of each piece, in order, in at most this many characters. The last entry counts the
/// omitted ones.
pub(super) fn owners_array(all: &[Option<&str>], characters: usize) -> Value {
    let mut left = characters;
    let mut told: Vec<Value> = Vec::new();
    for of in all {
        let Some(rest) = left.checked_sub(of.map_or(0, str::len) + 8) else { break };
        left = rest;
        told.push(json!(of));
    }
    if told.len() < all.len() {
        told.push(format!("+{} more", all.len() - told.len()).into());
    }
    told.into()
}

/// Returns the first fields, or only their number in the shortest notice.
pub(super) fn abbreviated_names(fields: &[String], detail: Detail) -> Value {
    let (max, characters) = match detail {
        Detail::Full => (12, MAX_FIELD_NAME_CHARS),
        Detail::Essential => (4, MAX_FIELD_NAME_CHARS),
        Detail::Minimal => return fields.len().into(),
    };
    let mut told: Vec<Value> = Vec::new();
    for field in fields.iter().take(max) {
        let end = field.char_indices().nth(characters).map_or(field.len(), |(at, _)| at);
        let short = end < field.len();
        told.push(if short { format!("{}…", &field[..end]) } else { field.clone() }.into());
    }
    if fields.len() > told.len() {
        told.push(format!("+{} more", fields.len() - told.len()).into());
    }
    told.into()
}

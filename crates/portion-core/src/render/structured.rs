//! Builds `structuredContent`: the same view for programs, and for clients that show a model nothing else.

use std::borrow::Cow;

use portion_json::containers::{Member, items, members};
use portion_json::path::{key_matches, value_at};
use portion_json::scan::{JsonKind, minified, quote};
use portion_json::span::Span;
use serde_json::Value;

use super::envelope;
use super::notice::{NoticeText, nest_under_meta};
use super::portion::{Piece, PieceBody, PortionKind};
use super::walk::{PartWalk, ReplyContent};
use crate::policy::MetadataStyle;
use crate::snapshot::{IndexedText, STRUCTURED_CONTENT, Structure as SubjectForm, block_place};

/// Content of `structuredContent`.
pub(super) enum StructuredForm<'a> {
    /// The content of the text form.
    SameAsText(Placement<'a>),
    /// The content of the text form, in another row format or shortened at another place.
    TextVariant(Box<ReplyContent<'a>>, Placement<'a>),
    /// A part of its own.
    OwnPart(Box<ReplyContent<'a>>, Placement<'a>),
    /// A JSON value without a notice, and how much of it is missing.
    BareValue(String, Option<Value>),
}

/// Placement of a value inside `structuredContent`.
#[derive(Clone, Copy)]
pub(super) enum Placement<'a> {
    /// It is the whole value.
    Root,
    /// It is under the only key.
    UnderKey {
        /// The key, quotes included.
        key: &'a str,
        /// True if it is written as a string, even if it is JSON.
        as_string: bool,
    },
    /// Its pieces are in the content blocks at this span of `structuredContent`.
    Blocks(Span),
    /// It is under `portion`, because it is not the whole value.
    UnderPortion,
}

impl<'a> StructuredForm<'a> {
    /// Makes the notice report a shortfall if fewer records are shown than in the text: numbered pages
    /// continue where the text ends.
    pub(super) fn align_page_size(&mut self, text: &ReplyContent<'_>) {
        let (Self::TextVariant(own, _), Some((part, served))) = (self, text.served_items()) else { return };
        let Some(shaped) = own.notice_part.as_mut().filter(|shaped| shaped.part_index == part) else {
            return;
        };
        let size = text.notice_part.as_ref().and_then(|shaped| shaped.rendering.meta.page_size);
        shaped.rendering.required_count = shaped.rendering.required_count.max(Some(served as usize));
        if shaped.rendering.kind == PortionKind::Page {
            shaped.rendering.meta.page_size = size.or(shaped.rendering.meta.page_size);
        }
    }

    /// Returns content that only `structuredContent` shows.
    pub(super) fn separate_content(&self) -> Option<&ReplyContent<'a>> {
        match self {
            Self::OwnPart(own, _) | Self::TextVariant(own, _) => Some(own),
            Self::SameAsText(_) | Self::BareValue(..) => None,
        }
    }

    /// Returns the content of a part that the text does not show. After the text, the walk continues in it.
    pub(super) fn own_part(&self) -> Option<&ReplyContent<'a>> {
        match self {
            Self::OwnPart(own, _) => Some(own),
            _ => None,
        }
    }

    /// Returns what is missing here but not in the text, for the notice of the text.
    pub(super) fn gap_to_text(&self, text: &ReplyContent<'_>) -> Option<Value> {
        let own = match self {
            Self::SameAsText(_) => return None,
            Self::BareValue(_, missing) => return missing.clone(),
            Self::TextVariant(own, _) | Self::OwnPart(own, _) => own,
        };
        let rendering = &own.notice_part.as_ref()?.rendering;
        if rendering.kind != PortionKind::Page {
            return rendering.omits_content().then(|| rendering.kind.name().into());
        }
        let (served, total) = (rendering.meta.served?, rendering.total_count?);
        let noted_count = text.notice_part.as_ref().and_then(|shaped| shaped.rendering.meta.served);
        let is_cut = own.next_position.is_some() || served < total || rendering.omits_content();
        (is_cut && noted_count != Some(served)).then(|| serde_json::json!({"served": served, "of": total}))
    }
}

/// Keys of a merged notice, in camel case.
const NOTICE_KEYS: [&str; 3] = ["nextCursor", "totalCount", "meta"];

/// Writes `structuredContent` with a notice.
///
/// It is written into the message as JSON, not as a string. White space of the source text, line breaks above
/// all, would end up raw in the message, so it is minified.
pub(super) type NoticeWriter<'f> = Box<dyn Fn(&NoticeText) -> String + 'f>;

impl StructuredForm<'_> {
    /// Returns a writer of the content of a reply. `leads_on`: true if the notice has a cursor to the next page.
    pub(super) fn writer<'f>(
        &'f self,
        walk: &PartWalk<'_>,
        text: &'f ReplyContent<'_>,
        leads_on: bool,
    ) -> NoticeWriter<'f> {
        let style = walk.cx.policy.render_options.metadata_style;
        let (content, shape) = match self {
            Self::BareValue(value, _) => return Box::new(|_| minified(value)),
            Self::OwnPart(own, shape) | Self::TextVariant(own, shape) => (&**own, *shape),
            Self::SameAsText(shape) => (text, *shape),
        };
        let of = |object: &str, is_taken| object_writer(object, style, is_taken, false);
        let part = walk.snapshot.parts().iter().find(|part| part.address == STRUCTURED_CONTENT);
        let is_taken =
            part.and_then(|part| part.indexed_text()).is_some_and(|subject| has_notice_keys(subject, style));
        if let (Placement::Blocks(span), Some(part), false) = (shape, part, walk.uses_envelope()) {
            return of(&blocks_with(part.text(), span, &content.pieces), is_taken);
        }
        let Some(shaped) = &content.notice_part else { return of("{}", is_taken) };
        let rendering = &shaped.rendering;
        if walk.uses_envelope() {
            return Box::new(move |notice| minified(&envelope::wrap(rendering, &notice.object, style)));
        }
        let as_string = matches!(shape, Placement::UnderKey { as_string: true, .. }) || !rendering.is_json;
        let value = if as_string { Cow::Owned(quote(&rendering.body)) } else { (&*rendering.body).into() };
        let in_shape = rendering.kind != PortionKind::Raw;
        match shape {
            Placement::UnderKey { key, .. } if in_shape => of(&format!("{{{key}:{value}}}"), is_taken),
            Placement::Root if in_shape && rendering.is_json => match JsonKind::of_value(&value) {
                JsonKind::Object => {
                    let rest = without_inner_notice(&value).filter(|_| leads_on);
                    of(rest.as_deref().unwrap_or(&value), is_taken && rest.is_none())
                }
                _ => of(&format!("{{\"items\":{value}}}"), is_taken),
            },
            _ => object_writer(&format!("{{\"value\":{value}}}"), style, false, true),
        }
    }
}

/// Returns a writer of an object with the notice's members: cursor and total before its own, because programs read them first
/// and clients cut the end, the facts after its own. If any of their keys is taken, the notice is under one key, which comes
/// first.
///
/// `is_taken`: the payload has such a key, even if the object does not show it. `is_nested`: the object is under `portion`.
fn object_writer(
    object: &str,
    style: MetadataStyle,
    is_taken: bool,
    is_nested: bool,
) -> NoticeWriter<'static> {
    let object = minified(object);
    let names = NOTICE_KEYS.map(|name| style.key(name));
    let is_name = |member: Member| names.iter().any(|name| key_matches(&object, member.key, name));
    let is_taken = is_taken || members(&object, Span::new(0, object.len())).any(is_name);
    let notice_key = is_taken.then(|| nested_notice_key(&object));
    let own = object.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or_default().to_owned();
    Box::new(move |notice| {
        let notice = nest_under_meta(&notice.object, style);
        let mut members = Vec::with_capacity(notice.len() + 1);
        if let Some(key) = &notice_key {
            members.extend([format!("\"{key}\":{}", Value::Object(notice)), own.clone()]);
        } else {
            members.extend(notice.iter().map(|(key, value)| format!("{}:{value}", quote(key))));
            members.insert(notice.keys().take_while(|key| *key != NOTICE_KEYS[2]).count(), own.clone());
        }
        members.retain(|member| !member.is_empty());
        let object = format!("{{{}}}", members.join(","));
        if is_nested { format!("{{\"portion\":{object}}}") } else { object }
    })
}

/// Returns `structuredContent` with the content blocks at a span reduced to these pieces. An array becomes an object, which has
/// a place for the notice.
fn blocks_with(json: &str, span: Span, pieces: &[Piece]) -> String {
    let is_array = span.slice(json).trim_start().starts_with('[');
    let blocks: Vec<Span> = if is_array { items(json, span).collect() } else { vec![span] };
    let shown = pieces.iter().filter_map(|piece| {
        let (number, path) = block_place(&piece.address)?;
        let block = *blocks.get(number)?;
        let text = value_at(json, block, &path).filter(|_| !path.is_empty());
        Some(match (&piece.body, text) {
            (PieceBody::Block(_), _) => block.slice(json).to_owned(),
            (body, Some(text)) => {
                let (before, after) = (
                    &json[block.start as usize..text.start as usize],
                    &json[text.end as usize..block.end as usize],
                );
                format!("{before}{}{after}", quote(body.as_str()))
            }
            (body, None) => format!("{{\"type\":\"text\",\"text\":{}}}", quote(body.as_str())),
        })
    });
    let shown = shown.collect::<Vec<_>>().join(",");
    let (before, after) = (&json[..span.start as usize], &json[span.end as usize..]);
    match (is_array, before.is_empty()) {
        (true, true) => format!("{{\"items\":[{shown}]}}"),
        (true, false) => format!("{before}[{shown}]{after}"),
        (false, _) => format!("{before}{shown}{after}"),
    }
}

/// Returns an object without the members of the notice of another Portion behind this one, or `None` if it has no such
/// notice.
///
/// A program that reads `nextCursor` must get the cursor of this page first, also where the inner page is the last one of its
/// list. On the last page of this reply the inner notice stays, and leads on.
fn without_inner_notice(object: &str) -> Option<String> {
    let own: Vec<Member> = members(object, Span::new(0, object.len())).collect();
    let styles = [MetadataStyle::Camel, MetadataStyle::Snake];
    let is = |member: &&Member, name: &str| {
        styles.iter().any(|style| key_matches(object, member.key, &style.key(name)))
    };
    let meta = own.iter().rfind(|member| is(member, NOTICE_KEYS[2]))?.value;
    let has = |name: &str| value_at(object, meta, name).is_some();
    let is_notice = JsonKind::of_value(meta.slice(object)) == JsonKind::Object
        && has("kind")
        && has("cursor")
        && (has("estimatedTokens") || has("estimated_tokens"));
    let others = own.iter().filter(|member| !NOTICE_KEYS.iter().any(|name| is(member, name)));
    let others = others.map(|member| member.span().slice(object)).collect::<Vec<_>>();
    is_notice.then(|| format!("{{{}}}", others.join(",")))
}

/// Returns true if an object has a key that the notice needs.
fn has_notice_keys(subject: &IndexedText, style: MetadataStyle) -> bool {
    let text: &str = &subject.text;
    let names = NOTICE_KEYS.map(|name| style.key(name));
    let taken = |key| names.iter().any(|name| key_matches(text, key, name));
    match &subject.structure {
        SubjectForm::Object(members) => members.listed.iter().any(|member| taken(member.key)),
        SubjectForm::List(list) => match list.enclosing_objects.first() {
            Some(level) => level.members.iter().any(|member| taken(member.key)),
            None => list.iter_from(text, 0).filter_map(|item| item.key).any(taken),
        },
        SubjectForm::Text(_) => false,
    }
}

/// Returns the key under which a notice is nested in an object that has a key of the notice already: `portion`, with
/// underscores appended until the object has no such key.
///
/// ```
/// use portion_core::render::nested_notice_key;
///
/// assert_eq!(nested_notice_key(r#"{"meta":1}"#), "portion");
/// assert_eq!(nested_notice_key(r#"{"meta":1,"portion":2}"#), "portion_");
/// ```
pub fn nested_notice_key(object: &str) -> String {
    let all = Span::new(0, object.len());
    let mut key = "portion".to_owned();
    while value_at(object, all, &key).is_some() {
        key.push('_');
    }
    key
}

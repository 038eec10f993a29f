//! Writes a portion into the spans of a result.

use std::collections::HashMap;

use portion_core::cursor::CursorToken;
use portion_core::render::{Piece, PieceBody, Portion};
use portion_core::snapshot::{STRUCTURED_CONTENT, capture};
use portion_json::scan::{quote, unescape};
use portion_json::span::Span;

use super::super::walk::{self, Splice, replace_lone_surrogates};
use super::builders::{self, content_block, text_block};
use super::outline::{PartKind, ResultOutline, ResultPart, ResultShape};
use super::overflow::OTHER_MEMBERS_STEP;
use super::{NOTICE_KEY, UPSTREAM_NOTICE_KEY};

/// Content of a portion, independent of how it was rendered.
#[derive(Clone, Copy, Debug)]
pub(super) struct PortionContent<'a> {
    pub pieces: &'a [Piece],
    pub structured: Option<&'a str>,
    pub notice: &'a str,
    /// Notice of the text form; `None` if one of the pieces contains the notice.
    pub text_notice: Option<&'a str>,
    /// Cursor to the next page, or else to this one.
    pub cursor: Option<&'a str>,
    /// Members for `_meta` beside the notice.
    pub extra_meta: Option<&'a str>,
    /// True if the payload is shown whole.
    pub is_whole: bool,
}

impl<'a> From<&'a Portion> for PortionContent<'a> {
    fn from(portion: &'a Portion) -> Self {
        Self {
            pieces: portion.pieces(),
            structured: portion.structured(),
            notice: portion.notice(),
            text_notice: portion.separate_notice(),
            cursor: portion.next_cursor().or(portion.start_cursor()).map(CursorToken::as_str),
            extra_meta: portion.notice_extras(),
            is_whole: portion.is_whole(),
        }
    }
}

impl PortionContent<'_> {
    /// Returns the gateway's `_meta` members: a copy of the notice, and the extra members.
    pub(super) fn meta_members(&self) -> String {
        let notice = format!("\"{NOTICE_KEY}\":{}", self.notice);
        self.extra_meta.map_or_else(|| notice.clone(), |extra| format!("{notice},{extra}"))
    }

    /// Returns JSON in place of the part at an address: the piece that shows it, with the notice unless the piece is JSON that
    /// contains it.
    pub(super) fn json_at(&self, address: &str, has_notice: impl FnOnce(&Piece) -> bool) -> String {
        let notice = self.text_notice.unwrap_or(self.notice);
        let piece = self.pieces.iter().find(|piece| piece.address == address);
        match (self.structured, piece) {
            (Some(structured), _) => replace_lone_surrogates(structured).into_owned(),
            (None, Some(piece)) if has_notice(piece) => piece.body.as_str().to_owned(),
            (None, Some(piece)) => {
                format!("{{\"data\":{},\"portion\":{notice}}}", quote(piece.body.as_str()))
            }
            (None, None) => notice.to_owned(),
        }
    }
}

impl ResultOutline<'_> {
    /// Replaces the whole payload by a portion.
    pub(crate) fn write_portion(&self, portion: &Portion, splice: &mut Splice<'_>) {
        self.write_content(portion.into(), splice);
    }

    /// Removes reserved members and redacts, for a result that is otherwise unchanged.
    pub(crate) fn strip_reserved(&self, splice: &mut Splice<'_>) {
        self.apply_redactions(splice);
        if self.is_text_only && !self.is_error {
            self.replace_structured(splice);
        } else if self.has_large_shadowed_members() {
            splice.edit_sequence(&self.sequences[0].sequence, |i| !self.shadowed_members.contains(&i), &[]);
        }
        if let Some((meta, taken)) = self.meta.as_ref().filter(|(_, taken)| !taken.is_empty()) {
            let added: Vec<String> = self.upstream_notice_member().into_iter().collect();
            splice.edit_sequence(meta, |i| !taken.contains(&i), &added);
        }
    }

    /// Replaces `structuredContent` by a text block, or by nothing if it repeats the content.
    fn replace_structured(&self, splice: &mut Splice<'_>) {
        let Some(part) = self.parts.iter().find(|part| part.kind == PartKind::Structured) else { return };
        let snapshot = capture(self.payload(0));
        let repeats = snapshot.parts().iter().any(|part| part.duplicate.is_some());
        let mut block: Vec<String> =
            (!repeats).then(|| text_block(part.span.slice(self.text))).into_iter().collect();
        let mut removed = vec![vec![false; self.sequences[0].sequence.items.len()]];
        for hidden in self.shadowed_members.iter().copied().chain([part.slot.1]) {
            removed[0][hidden] = true;
        }
        match self.content_list {
            Some(content) if !block.is_empty() => {
                splice.edit_sequence(&self.sequences[content].sequence, |_| true, &block);
                block.clear();
            }
            Some(_) => {}
            None => {
                self.remove_member(self.shape.content_member(), &mut removed);
                block = vec![format!("\"{}\":[{}]", self.shape.content_member(), block.join(","))];
            }
        }
        splice.edit_sequence(&self.sequences[0].sequence, |i| !removed[0][i], &block);
    }

    /// Applies the redactions of extra members.
    fn apply_redactions(&self, splice: &mut Splice<'_>) {
        for (place, replacement) in &self.redactions {
            splice.replace(*place, replacement.clone());
        }
    }

    /// Returns the notice of another Portion in front of the upstream, under a key of its own. A notice with
    /// redactions is omitted.
    fn upstream_notice_member(&self) -> Option<String> {
        let overlaps = |notice: Span, place: Span| place.start < notice.end && notice.start < place.end;
        let hides = |notice: Span| self.redactions.iter().any(|(place, _)| overlaps(notice, *place));
        let notice = self.upstream_notice.filter(|notice| !hides(*notice))?;
        Some(format!("\"{UPSTREAM_NOTICE_KEY}\":{}", notice.slice(self.text)))
    }

    pub(super) fn write_content(&self, content: PortionContent<'_>, splice: &mut Splice<'_>) {
        self.apply_redactions(splice);
        let pieces: HashMap<&str, &Piece> =
            content.pieces.iter().map(|piece| (piece.address.as_str(), piece)).collect();
        let mut removed: Vec<Vec<bool>> =
            self.sequences.iter().map(|nested| vec![false; nested.sequence.items.len()]).collect();
        for hidden in &self.shadowed_members {
            removed[0][*hidden] = true;
        }
        let mut added = Vec::new();
        for part in &self.parts {
            let piece = pieces.get(part.address.as_str()).copied();
            if let Some((at, mime)) = piece.and_then(|piece| changed_mime(part, piece)) {
                splice.replace(at, quote(mime));
            }
            let with = match part.kind {
                PartKind::Structured => content
                    .structured
                    .filter(|_| !self.is_text_only)
                    .map(|json| Some(replace_lone_surrogates(json).into())),
                PartKind::OtherMembers => {
                    added.extend(self.write_other_members(part, piece, &mut removed));
                    continue;
                }
                _ => piece.and_then(|piece| self.replacement(part, &piece.body)),
            };
            match with {
                Some(Some(with)) => splice.replace(part.span, with),
                Some(None) => {}
                None => removed[part.slot.0][part.slot.1] = true,
            }
        }
        // Inner sequences come after outer ones.
        for i in (1..self.sequences.len()).rev() {
            if let Some((outer, item)) =
                self.sequences[i].parent.filter(|_| removed[i].iter().all(|removed| *removed))
            {
                removed[outer][item] = true;
            }
        }
        // Without `structuredContent`, its shown part is added to the content.
        let own = pieces
            .get(STRUCTURED_CONTENT)
            .filter(|_| self.is_text_only)
            .map(|piece| content_block(&piece.body));
        let notice = content.text_notice.map(|notice| self.notice_item(content, notice));
        let items: Vec<String> = own.into_iter().chain(notice).collect();
        if self.content_list.is_none() {
            added.push(format!("\"{}\":[{}]", self.shape.content_member(), items.join(",")));
            self.remove_member(self.shape.content_member(), &mut removed);
        }
        added.extend(self.write_meta(content, &mut removed, splice));
        self.restrict_cache_scope(splice);
        for (i, nested) in self.sequences.iter().enumerate() {
            let added = match i {
                0 => added.as_slice(),
                i if Some(i) == self.content_list => items.as_slice(),
                _ => &[],
            };
            if !added.is_empty() || removed[i].contains(&true) {
                splice.edit_sequence(&nested.sequence, |item| !removed[i][item], added);
            }
        }
    }

    /// Returns the replacement of a part: `Some(None)` if it is unchanged, `None` if it must be removed.
    #[expect(clippy::option_option, reason = "gone, as it is, or replaced")]
    fn replacement(&self, part: &ResultPart, body: &PieceBody) -> Option<Option<String>> {
        let current = part.span.slice(self.text);
        let own = part.own_json.as_deref().unwrap_or(current);
        let text_block = |text: &str| format!("{{\"type\":\"text\",\"text\":{}}}", quote(text));
        let with = match (body, &part.kind) {
            (body, PartKind::Text) => {
                let text = body.as_str();
                // A text shown whole keeps its escapes. An escape takes at most six bytes for one.
                let near = current.len() >= text.len() && current.len() <= text.len() * 6 + 2;
                if near && unescape(current) == *text {
                    return Some(None);
                }
                quote(text)
            }
            (PieceBody::Block(json), _) if json == own => return Some(None),
            (PieceBody::Block(json), _) => json.clone(),
            (_, PartKind::Extra | PartKind::OtherMembers | PartKind::Structured) => return None,
            (body, PartKind::Block(_)) => text_block(body.as_str()),
            (body, PartKind::Message) => {
                format!("{{\"role\":\"user\",\"content\":{}}}", text_block(body.as_str()))
            }
            (body, PartKind::Entry(_)) => {
                let uri =
                    walk::member_value(self.text, part.span, "uri").filter(|_| part.label.source.is_some());
                let uri = uri.map_or("\"portion://part\"", |uri| uri.slice(self.text));
                builders::text_entry(uri, "text/plain", body.as_str())
            }
        };
        Some(Some(with))
    }

    /// Keeps the members of the part with several extra members in their places if it is shown as it is. Otherwise removes them,
    /// and returns the member in their place, if the part is shown.
    fn write_other_members(
        &self,
        part: &ResultPart,
        piece: Option<&Piece>,
        removed: &mut [Vec<bool>],
    ) -> Option<String> {
        let shown = piece.and_then(|piece| match &piece.body {
            PieceBody::Block(json) => Some(json),
            PieceBody::Text(_) | PieceBody::Base64(_) => None,
        });
        if shown.is_some() && shown == part.own_json.as_ref() {
            return None;
        }
        for (sequence, item) in &self.other_member_slots {
            removed[*sequence][*item] = true;
        }
        shown.map(|json| format!("\"{OTHER_MEMBERS_STEP}\":{json}"))
    }

    /// Returns the notice as the last item of the content.
    fn notice_item(&self, content: PortionContent<'_>, notice: &str) -> String {
        match self.shape {
            ResultShape::Tool => format!("{{\"type\":\"text\",\"text\":{}}}", quote(notice)),
            ResultShape::Prompt => {
                let text = quote(notice);
                format!("{{\"role\":\"user\",\"content\":{{\"type\":\"text\",\"text\":{text}}}}}")
            }
            ResultShape::Resource => builders::notice_entry(content, notice),
        }
    }

    /// Writes the notice into `_meta`. Returns the member to add if there is no `_meta` object.
    fn write_meta(
        &self,
        content: PortionContent<'_>,
        removed: &mut [Vec<bool>],
        splice: &mut Splice<'_>,
    ) -> Option<String> {
        let members = content.meta_members();
        let stays = |removed: &[Vec<bool>]| {
            let items = &self.sequences[0].sequence.items;
            let meta = |span: &Span, whole: Span| span.end == whole.end && span.start < whole.start;
            let found = self.meta.as_ref()?;
            let at = items.iter().position(|item| meta(item, found.0.span))?;
            (!removed[0][at]).then_some(found)
        };
        if let Some((meta, taken)) = stays(removed) {
            // Beside a cursor, a client must see more than the only member of an object.
            let unwraps = self.unwrap_marker.filter(|_| !content.is_whole && content.structured.is_some());
            let added: Vec<String> =
                [Some(members), self.upstream_notice_member()].into_iter().flatten().collect();
            splice.edit_sequence(meta, |i| !taken.contains(&i) && Some(i) != unwraps, &added);
            return None;
        }
        self.remove_member("_meta", removed);
        Some(format!("\"_meta\":{{{members}}}"))
    }

    /// Restricts the cache scope to private: cursors belong to one caller, so the result must not be cached
    /// for others.
    fn restrict_cache_scope(&self, splice: &mut Splice<'_>) {
        let items = &self.sequences[0].sequence.items;
        let scope =
            items.iter().rfind(|item| walk::string_equals(walk::member_key(self.text, **item), "cacheScope"));
        if let Some(member) = scope {
            splice.replace(*member, "\"cacheScope\":\"private\"");
        }
    }

    fn remove_member(&self, name: &str, removed: &mut [Vec<bool>]) {
        for (i, item) in self.sequences[0].sequence.items.iter().enumerate() {
            let member = walk::member_key(self.text, *item);
            removed[0][i] |= walk::string_equals(member, name);
        }
    }
}

/// Returns the span of a part's MIME type and its new value, if the shown piece has another type.
fn changed_mime<'p>(part: &ResultPart, piece: &'p Piece) -> Option<(Span, &'p str)> {
    let mime = piece.mime.as_deref().filter(|mime| part.label.mime_type.as_deref() != Some(mime))?;
    Some((part.mime_span?, mime))
}

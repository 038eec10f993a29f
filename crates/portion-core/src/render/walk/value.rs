//! Renders a value that a path or a section selects: by its structure, whole, as data or as received.

use portion_json::scan::{JsonReader, escaped_len, minified};
use portion_json::span::Span;

use super::{PartWalk, RenderedPart, ReplyContent};
use crate::cursor::PartOffset;
use crate::render::budget::RemainingBudget;
use crate::render::list_wrapper::ServedPage;
use crate::render::pass_through::max_whole_tokens;
use crate::render::pieces::{base64_piece, fragment_piece, part_piece, rendering_pieces};
use crate::render::portion::{PieceBody, PortionKind};
use crate::render::rendering::{NoticeExtra, PageParts, RenderTarget, Rendering, RowFormat, max_name_chars};
use crate::render::{chunk, list_wrapper, page, summary, upstream_paging};
use crate::snapshot::{JsonOrigin, Layout, List, ObjectIndex, OrderedList, Part, PartBody, Slice, Structure};
use crate::view::{
    Pagination, RequestedFields, Target, TargetValue, list_field_names, media, record_has_any,
    subject_has_any,
};

impl<'a> PartWalk<'a> {
    /// Renders the value.
    pub(super) fn render_value(&self, value: &TargetValue, room: RemainingBudget<'_>) -> ReplyContent<'a> {
        let part = usize::from(value.part);
        if let Some(content) = self.render_media(value, room) {
            return content;
        }
        let rendering = self.render_value_text(value, room);
        let next = rendering.next.map(|place| self.position_after(part, place));
        let pieces = match self.snapshot.parts().get(part) {
            Some(whole) if value.pointer.is_empty() => rendering_pieces(whole, &rendering),
            Some(whole) => vec![match &value.base64 {
                // Resources mark base64 as such.
                Some(base64) if self.cx.read_uri.is_some() && self.request.view.raw => {
                    base64_piece(whole, &rendering, &base64.mime_type)
                }
                _ => fragment_piece(whole, PieceBody::Text(rendering.body.clone())),
            }],
            None => Vec::new(),
        };
        ReplyContent {
            pieces,
            notice_part: Some(RenderedPart { part_index: part, rendering }),
            next_position: next,
            missing_parts: Vec::new(),
            notice_address: self.ambiguous_address(value),
        }
    }

    /// Returns the address of a whole part, if other parts with text or JSON might be meant.
    fn ambiguous_address(&self, value: &TargetValue) -> Option<&'a str> {
        let parts = self.snapshot.parts();
        let others = parts.iter().filter(|part| part.duplicate.is_none() && part.indexed_text().is_some());
        let is_start = value.pointer.is_empty() && !self.request.is_continuation;
        let part = parts.get(usize::from(value.part))?;
        (is_start && others.count() > 1).then_some(part.address.as_str())
    }

    /// Renders a media block that a path selects, if it fits.
    fn render_media(&self, value: &TargetValue, mut room: RemainingBudget<'_>) -> Option<ReplyContent<'a>> {
        let (at, policy) = (usize::from(value.part), self.cx.policy);
        // An entry of a resource is read as base64.
        let tool = self.cx.read_uri.is_none();
        if !tool
            || self.request.view.raw
            || !value.pointer.is_empty()
            || !media::is_displayable(self.snapshot, at, policy)
        {
            return None;
        }
        let part = self.snapshot.parts().get(at)?;
        let PartBody::Atomic { json, binary, .. } = &part.body else { return None };
        let shown = room.spend_block(json, binary.as_ref(), policy);
        let pieces = || vec![part_piece(part, PieceBody::Block(json.to_string()))];
        shown.then(|| ReplyContent { pieces: pieces(), ..ReplyContent::default() })
    }

    fn render_value_text(&self, value: &TargetValue, room: RemainingBudget<'_>) -> Rendering {
        let pointer = self.value_pointer(value);
        if self.request.view.raw {
            let byte = match self.request.start.offset {
                PartOffset::Byte(at) => at as usize,
                PartOffset::Item(_) => 0,
            };
            if let Some(base64) = &value.base64 {
                let flat = self.cx.read_uri.map(|_| self.cx.policy.media_tokens);
                let mut rendering = chunk::render_base64(&value.source, byte, &room, flat);
                rendering.meta.path = Some(pointer);
                rendering.extras.push(NoticeExtra::MimeType(base64.mime_type.clone()));
                return rendering;
            }
            let window = self.request.view.range.map(|window| window.span);
            let stretch = window.unwrap_or(Span::new(0, value.source.len()));
            let mut rendering = chunk::render_bytes(&value.source, stretch, byte, &room);
            rendering.meta.path = Some(pointer);
            return rendering;
        }
        let at = (usize::from(value.part), self.request.start.offset);
        let target = self.render_target(&value.subject, &pointer, !value.pointer.is_empty(), at);
        let section = self.request.view.is_section && value.subject.is_json();
        let whole = section.then(|| render_whole_if_small(&target, room)).flatten();
        let part =
            self.snapshot.parts().get(at.0).filter(|_| value.pointer.is_empty() && value.subject.is_json());
        let mut rendering = whole.unwrap_or_else(|| match part {
            Some(part) => render_part(part, &target, &room),
            None => render_subject(&target, &room),
        });
        let encoding = value.base64.as_ref().and_then(|base64| base64.text_encoding.clone());
        rendering.meta.decoded = encoding.filter(|_| self.request.start.offset.is_start());
        if self.request.selects_list {
            rendering.meta.path = Some(pointer);
        }
        rendering
    }

    /// Returns the pointer of a node. The pointer of a value inside a string includes the pointer of that
    /// string.
    fn value_pointer(&self, value: &TargetValue) -> String {
        let part = usize::from(value.part);
        let named = self.snapshot.parts().get(part).and_then(Part::enclosing_string).is_some()
            && self.main_part == Some(part);
        let base = if named && !value.pointer.is_empty() { "" } else { self.base_pointer(part) };
        format!("{base}{}", value.pointer)
    }

    /// Returns the origin of the shown JSON, if it was found in a text and the notice describes it.
    pub(in crate::render) fn read_as(&self, content: &ReplyContent<'_>) -> Option<&'a JsonOrigin> {
        let shaped =
            content.notice_part.as_ref().filter(|shaped| shaped.rendering.kind != PortionKind::Raw)?;
        let origin = self.snapshot.parts().get(shaped.part_index)?.json_origin.as_ref()?;
        let is_shown = match &self.request.view.target {
            // Values inside it are reported only if they are shown differently from the source.
            Target::Value(value) if !value.pointer.is_empty() => {
                origin.has_replacements && *value.source != *value.subject.text
            }
            // An unchanged text needs no such report.
            _ => shaped.rendering.kind != PortionKind::Whole && self.request.start.offset.is_start(),
        };
        is_shown.then_some(origin)
    }
}

/// Shares of a budget, in twentieths, tried for JSON that is then escaped into a string.
const BUDGET_SHARES: [usize; 6] = [16, 14, 12, 10, 7, 4];

/// Renders a part as received.
pub(in crate::render) fn render_as_received(
    part: &Part,
    target: &RenderTarget<'_>,
    room: &RemainingBudget<'_>,
) -> Rendering {
    match part.json_origin {
        Some(_) => render_source_text(part),
        None => Rendering::whole(target, room),
    }
}

fn render_source_text(part: &Part) -> Rendering {
    // An object or a string is JSON, whatever it contains.
    Rendering {
        is_json: part.enclosing_string().is_some(),
        ..Rendering::new(PortionKind::Whole, part.text().to_owned())
    }
}

/// Renders the source text of embedded JSON if the JSON would be shown whole and the text fits.
pub(in crate::render) fn render_source_if_fits(
    part: &Part,
    target: &RenderTarget<'_>,
    room: RemainingBudget<'_>,
) -> Option<Rendering> {
    part.json_origin.as_ref().filter(|_| target.upstream_list.is_none())?;
    let rendering = render_whole_if_small(target, room)?;
    let fits = room.fits(part.text());
    fits.then(|| render_source_text(part)).filter(|_| !rendering.omits_content())
}

/// Renders a part. JSON found in a string is escaped back into that string, unless the text around it does
/// not fit or an envelope takes its place.
pub(in crate::render) fn render_part(
    part: &Part,
    target: &RenderTarget<'_>,
    room: &RemainingBudget<'_>,
) -> Rendering {
    if part.enclosing_string().is_none() || target.uses_envelope() {
        return render_subject(target, room);
    }
    // Without its string it is not a valid value for `structuredContent`.
    let alone = || Rendering { is_json: false, ..render_subject(target, room) };
    render_in_string(part, room, |room| Some(render_subject(target, room))).unwrap_or_else(alone)
}

/// Renders JSON that was found in a string inside that string, or returns `None` if it does not fit.
pub(in crate::render) fn render_in_string(
    part: &Part,
    room: &RemainingBudget<'_>,
    draw: impl Fn(&RemainingBudget<'_>) -> Option<Rendering>,
) -> Option<Rendering> {
    let origin = part.json_origin.as_ref()?;
    // The cost of the escapes is known only after rendering.
    BUDGET_SHARES.into_iter().find_map(|share| {
        let (tokens, bytes) = (room.tokens / 20 * share, room.bytes / 20 * share);
        let rendering = draw(&RemainingBudget { tokens, bytes, ..*room })?;
        let body = origin.with_replaced_string(&rendering.body).filter(|body| room.fits(body))?;
        Some(Rendering { body, is_json: true, ..rendering })
    })
}

/// Renders a list, object or text by its structure.
pub(in crate::render) fn render_subject(target: &RenderTarget<'_>, room: &RemainingBudget<'_>) -> Rendering {
    match &target.subject.structure {
        Structure::List(list) => {
            render_around_list(target, room).unwrap_or_else(|| page::render(target, list, room))
        }
        Structure::Object(members) => summary::render(target, members, room),
        Structure::Text(text) => chunk::render(target, text, room),
    }
}

/// Renders the objects around a list if the requested fields are theirs, and no item has any of them.
fn render_around_list(target: &RenderTarget<'_>, room: &RemainingBudget<'_>) -> Option<Rendering> {
    let RequestedFields::Only(fields) = &target.view.field_selection else { return None };
    let text: &str = &target.subject.text;
    if subject_has_any(target.subject, fields) || !record_has_any(text, fields) {
        return None;
    }
    let members = ObjectIndex::parse(&mut JsonReader::new(text)).ok()?;
    Some(summary::render(target, &members, room))
}

/// Renders a part whole if it is below the thresholds of its kind, or if it is a section that fits.
pub(in crate::render) fn render_whole_if_small(
    target: &RenderTarget<'_>,
    room: RemainingBudget<'_>,
) -> Option<Rendering> {
    let view = target.view;
    let request = view.limit.is_some()
        || matches!(view.field_selection, RequestedFields::Only(_))
        || target.order.is_some();
    if request || !target.is_first() || target.wanted_count.is_some() {
        return None;
    }
    let threshold =
        if view.is_section { usize::MAX } else { max_whole_tokens(target.subject, target.policy) };
    // A long text cannot fit, and is not read.
    let (text, max) = (&target.subject.text, threshold.min(room.tokens));
    if text.len() > room.bytes
        || target.measured.count_within(text, max, room.counter).is_none()
        || escaped_len(text) > room.bytes
    {
        return None;
    }
    let table = match &target.subject.structure {
        Structure::List(list) if target.allows_table && !target.is_one_object() => {
            Some(page::render(&RenderTarget { allows_sample: false, ..*target }, list, &room))
        }
        _ => None,
    };
    let table = table.filter(|table| table.meta.is_dense && table.next.is_none() && !table.omits_content());
    Some(table.unwrap_or_else(|| Rendering::whole(target, &room)))
}

impl Rendering {
    /// Renders a part as the upstream wrote it.
    pub(in crate::render) fn whole(target: &RenderTarget<'_>, room: &RemainingBudget<'_>) -> Self {
        let subject = target.subject;
        let page = match &subject.structure {
            Structure::List(list) => {
                let size = list.len().max(target.policy.default_page_size);
                ServedPage::new(target, list, 0, (list.len(), size))
                    .map(|page| (page, OrderedList { text: &subject.text, list, order: None }))
            }
            _ => None,
        };
        // A list of several pages of the upstream is one page here.
        let text = page.as_ref().map_or_else(
            || subject.text.to_string(),
            |(page, rows)| list_wrapper::rewritten_text(*rows, page),
        );
        let mut rendering = Self::new(PortionKind::Whole, text);
        rendering.linked_cursors = page.as_ref().map(|(page, _)| page.cursors()).unwrap_or_default();
        rendering.is_json = subject.is_json();
        if rendering.is_json && target.policy.render_options.is_compact {
            rendering.body = minified(&rendering.body);
        }
        if let Structure::List(list) = &subject.structure
            && !target.is_one_object()
        {
            rendering.kind = PortionKind::Page;
            rendering.total_count = Some(list.len());
            let size = list.len().max(target.policy.default_page_size);
            rendering.meta.page_size = Some(size);
            rendering.pagination = Some(Pagination::of_size(target.part_index as u16, size as u32));
            rendering.meta.served = Some(list.len());
            rendering.meta.has_more = Some(false);
            rendering.meta.offset = Some(0);
            upstream_paging::note_upstream_page(target, list, &mut rendering);
            upstream_paging::note_fetched_list(target, list.len(), &mut rendering);
            let page = page.as_ref().map(|(page, _)| page);
            // A map is an object.
            rendering.page_parts = (target.uses_envelope() && list.layout != Layout::Map)
                .then(|| PageParts::of_whole_list(&subject.text, list, page, room));
            let available = list_field_names(list);
            if !available.is_empty() && target.view.field_selection != RequestedFields::All {
                rendering.available_fields = Some((available, max_name_chars(room)));
            }
        }
        rendering
    }
}

impl PageParts {
    /// Takes apart a list as the upstream wrote it.
    fn of_whole_list(
        text: &Slice,
        list: &List,
        page: Option<&ServedPage<'_>>,
        room: &RemainingBudget<'_>,
    ) -> Self {
        let rows = OrderedList { text, list, order: None };
        let items = match list.layout {
            Layout::Lines => {
                let items: Vec<&str> = list.iter_from(text, 0).map(|item| item.value.slice(text)).collect();
                format!("[{}]", items.join(","))
            }
            _ => list.span.slice(text).to_owned(),
        };
        let wide = RemainingBudget { tokens: usize::MAX / 8, bytes: usize::MAX / 8, ..*room };
        Self {
            items,
            outer_members: list_wrapper::render(rows, &RowFormat::default(), None, page, &wide).outer_members,
        }
    }
}

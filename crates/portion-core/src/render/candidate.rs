//! Renders both forms of a reply with their notice, and measures them.

use serde_json::Value;

use super::budget::{Detail, RemainingBudget, ReplyLimits};
use super::cost_estimate::CostEstimate;
use super::envelope;
use super::notice::{Notice, NoticeText};
use super::pass_through::shows_part;
use super::portion::{Piece, PieceBody, Plan, Portion, PortionKind, StageName};
use super::structured::{Placement, StructuredForm};
use super::walk::{PartWalk, ReplyContent};
use crate::cursor::{CursorToken, Position};
use crate::policy::StructuredMode;
use crate::snapshot::Part;
use crate::view::{Pagination, RequestedFields};

/// A number with as many digits as budgets have.
const LONG_FIGURE: &str = "9999";

/// A rendered reply with its measurements.
pub(super) struct Candidate {
    pub portion: Portion,
    /// Charged tokens of the more expensive form.
    pub charged_tokens: usize,
    /// Charged wire bytes of the text form and the structured form together.
    pub charged_bytes: usize,
    /// Charged tokens of the notice.
    pub notice_tokens: usize,
    /// Wire bytes of the larger form, without the notice.
    pub larger_form_bytes: usize,
}

/// Both forms of a reply, without their notices.
struct Forms<'a> {
    text: ReplyContent<'a>,
    structured: Option<StructuredForm<'a>>,
    /// Index of the piece that the envelope fills, if there is one.
    envelope: Option<usize>,
}

/// Both forms of a reply with their notices, as they are sent.
struct WrittenForms {
    notice: NoticeText,
    structured: Option<String>,
    envelope: Option<String>,
    /// Tokens of the more expensive form, as its notice states them: at least the count.
    stated: usize,
    /// The count of the more expensive form.
    counted: usize,
}

/// Text in place of one that `structuredContent` repeats.
const TEXT_LEFT_OUT: &str = "The result is in structuredContent.";

/// The text that `structuredContent` shows in its place.
enum LeftOutText<'a> {
    /// All texts.
    All,
    /// The text of this part.
    Part(&'a Part),
}

/// Facts about the rendering that the notice is about.
struct RenderedFacts {
    stages: Vec<StageName>,
    whole_value: Option<String>,
    total_count: Option<usize>,
    upstream_total: Option<usize>,
    dropped_count: usize,
    served_count: Option<usize>,
    pagination: Option<Pagination>,
    next_position: Option<Position>,
    plan: Option<Plan>,
}

impl Candidate {
    /// Renders a reply with a budget for its content.
    pub(super) fn render(
        walk: &PartWalk<'_>,
        room: RemainingBudget<'_>,
        limits: ReplyLimits,
        detail: Detail,
    ) -> Self {
        let forms = Forms::render(walk, room);
        let notice = Notice {
            structured_gap: forms.structured_gap(),
            ..walk.notice(forms.noticed_content(), limits.tokens)
        };
        let own_notice = forms.separate_content().map(|own| walk.notice(own, limits.tokens));
        let charged_cursors = if walk.charges_cursors {
            let notices = notice.cursors().into_iter().chain(own_notice.iter().flat_map(Notice::cursors));
            notices.chain(forms.linked_cursors()).collect()
        } else {
            Vec::new()
        };
        let costs = CostEstimate::new(walk, &forms.text, forms.envelope, charged_cursors.clone());
        let written = forms.write(walk, &notice, own_notice.as_ref(), &costs, detail);
        // Who asks for all fields gets the object itself where the notice has a place beside it.
        let is_plain = forms.envelope.is_some() && walk.request.view.field_selection == RequestedFields::All;
        let facts = RenderedFacts::new(forms.noticed_content(), is_plain);
        let (kind, next_cursor, start_cursor) = (notice.kind(), notice.next_cursor, notice.start_cursor);
        let left_out = forms.text_left_out(walk);
        let (envelope_index, mut pieces) = (forms.envelope, forms.text.pieces);
        let WrittenForms { notice, structured, envelope, stated, counted } = written;
        let charged_tokens = costs.charged_tokens(stated, envelope.as_ref(), structured.as_ref(), &notice);
        if let (Some(at), Some(json)) = (envelope_index, envelope) {
            pieces[at].body = PieceBody::Text(json);
        }
        let is_enveloped = envelope_index.is_some();
        let has_full_notice = structured.is_some() || is_enveloped;
        let shown = costs.piece_bytes(&pieces);
        let charged_bytes = costs.charged_bytes(shown, structured.as_ref(), &notice);
        let larger_form_bytes = costs.larger_form_bytes(shown, structured.as_ref(), &notice);
        pieces.retain(|piece| !left_out.as_ref().is_some_and(|text| text.has(piece)));
        Self {
            charged_tokens,
            charged_bytes,
            notice_tokens: costs.notice_tokens(if has_full_notice {
                &notice.full_text
            } else {
                &notice.model_text
            }),
            larger_form_bytes,
            portion: Portion {
                pieces,
                structured,
                notice: notice.full_text,
                is_enveloped: is_enveloped && left_out.is_none(),
                text_notice: left_out.map_or(notice.model_text, |_| TEXT_LEFT_OUT.to_owned()),
                whole_value: facts.whole_value,
                is_whole: walk.is_whole,
                next_cursor,
                start_cursor,
                tokens: counted,
                charged_cursors,
                kind,
                stages: facts.stages,
                dropped_count: facts.dropped_count,
                served_count: facts.served_count,
                total_count: facts.total_count,
                upstream_total: facts.upstream_total,
                pagination: facts.pagination,
                next_position: facts.next_position,
                notice_extras: None,
                plan: facts.plan,
            },
        }
    }
}

impl<'a> Forms<'a> {
    fn render(walk: &PartWalk<'a>, room: RemainingBudget<'_>) -> Self {
        let mut text = walk.render_text(room);
        let mut structured = if walk.is_first_reply { walk.render_structured(room, &text) } else { None };
        if let Some(StructuredForm::OwnPart(own, _)) = &mut structured {
            // Each form reports the parts that neither shows.
            own.missing_parts.extend(text.missing_parts.iter().cloned());
        }
        if let Some(form) = &mut structured {
            form.align_page_size(&text);
        }
        // After the last part of the text, the walk continues in the part that only `structuredContent`
        // shows.
        let own_part = structured.as_ref().and_then(StructuredForm::own_part);
        text.next_position = text.next_position.or(own_part.and_then(|own| own.next_position));
        let envelope = walk.reserve_envelope(&mut text);
        Self { text, structured, envelope }
    }

    /// Returns the text to leave out, if `structuredContent` is shown in its place.
    fn text_left_out(&self, walk: &PartWalk<'a>) -> Option<LeftOutText<'a>> {
        if walk.cx.policy.render_options.structured != StructuredMode::InPlaceOfText {
            return None;
        }
        match self.structured.as_ref()? {
            StructuredForm::SameAsText(Placement::Blocks(_)) => Some(LeftOutText::All),
            StructuredForm::SameAsText(_) | StructuredForm::TextVariant(..) => {
                let shown = self.text.notice_part.as_ref()?;
                walk.snapshot.parts().get(shown.part_index).map(LeftOutText::Part)
            }
            StructuredForm::OwnPart(..) | StructuredForm::BareValue(..) => None,
        }
    }

    /// Returns the content that only `structuredContent` shows.
    fn separate_content(&self) -> Option<&ReplyContent<'a>> {
        self.structured.as_ref().and_then(StructuredForm::separate_content)
    }

    /// Returns the cursors in the content of both forms.
    fn linked_cursors(&self) -> Vec<CursorToken> {
        let contents = [Some(&self.text), self.separate_content()].into_iter().flatten();
        let parts = contents.filter_map(|content| content.notice_part.as_ref());
        parts.flat_map(|part| part.rendering.linked_cursors.clone()).collect()
    }

    /// Returns the content that the notice is about.
    fn noticed_content(&self) -> &ReplyContent<'a> {
        self.separate_content().filter(|_| self.text.notice_part.is_none()).unwrap_or(&self.text)
    }

    /// Returns what `structuredContent` lacks, for the notice of the text.
    fn structured_gap(&self) -> Option<Value> {
        let structured = self.structured.as_ref().filter(|_| self.text.notice_part.is_some());
        structured.and_then(|form| form.gap_to_text(&self.text))
    }

    /// Writes both forms with notices that state the cost of the reply.
    fn write(
        &self,
        walk: &PartWalk<'_>,
        notice: &Notice<'_>,
        own_notice: Option<&Notice<'_>>,
        costs: &CostEstimate<'_, '_>,
        detail: Detail,
    ) -> WrittenForms {
        let style = walk.cx.policy.render_options.metadata_style;
        let digits = walk.cx.counter.count(LONG_FIGURE);
        // Duplicate forms share one notice, which reports the cost of the more expensive.
        let duplicate = self.structured.as_ref().filter(|form| form.separate_content().is_none());
        let writer = duplicate.map(|form| form.writer(walk, &self.text, notice.next_cursor.is_some()));
        let (text, (structured, envelope), stated, counted) = notice.stating_cost(
            detail,
            (costs.content_tokens(), digits),
            |text| {
                let structured = writer.as_ref().map(|write| write(text));
                (structured, self.envelope.map(|_| envelope::wrap(notice.rendering, &text.object, style)))
            },
            |text, (structured, envelope)| {
                let as_text = costs.text_tokens(envelope.as_ref(), text);
                structured.as_ref().map_or(as_text, |json| costs.structured_tokens(json).max(as_text))
            },
        );
        let Some((form, own)) = self.structured.as_ref().zip(own_notice) else {
            return WrittenForms { notice: text, structured, envelope, stated, counted };
        };
        let write = form.writer(walk, &self.text, own.next_cursor.is_some());
        let (_, structured, own_stated, own_counted) =
            own.stating_cost(detail, (0, digits), write, |_, json| costs.structured_tokens(json));
        WrittenForms {
            notice: text,
            structured: Some(structured),
            envelope,
            stated: stated.max(own_stated),
            counted: counted.max(own_counted),
        }
    }
}

impl LeftOutText<'_> {
    /// Returns true if a piece is part of the text.
    fn has(&self, piece: &Piece) -> bool {
        match self {
            Self::All => !matches!(piece.body, PieceBody::Block(_)),
            Self::Part(part) => shows_part(piece, part),
        }
    }
}

impl RenderedFacts {
    fn new(content: &ReplyContent<'_>, is_plain: bool) -> Self {
        let rendering = content.notice_part.as_ref().map(|part| &part.rendering);
        let meta = rendering.map(|rendering| &rendering.meta);
        Self {
            stages: rendering.map(|rendering| rendering.stages.clone()).unwrap_or_default(),
            whole_value: rendering
                .filter(|rendering| is_plain && rendering.kind == PortionKind::Whole && rendering.is_json)
                .map(|rendering| rendering.body.clone()),
            total_count: rendering.and_then(|rendering| rendering.total_count),
            upstream_total: meta.and_then(|meta| meta.upstream_total).map(|total| total as usize),
            dropped_count: meta.and_then(|meta| meta.dropped_count).unwrap_or_default(),
            served_count: meta.and_then(|meta| meta.served),
            pagination: rendering.and_then(|rendering| rendering.pagination.clone()),
            next_position: content.next_position,
            plan: rendering.and_then(|rendering| rendering.plan.as_ref()).map(|(plan, _)| plan.clone()),
        }
    }
}

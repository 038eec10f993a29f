//! Reports that a list is one page of the upstream's own paging, and writes the call of the upstream's next page.

use portion_json::containers::members;
use portion_json::scan::{JsonKind, unescape};
use portion_json::span::Span;
use portion_text::chunk::TextKind;
use portion_text::delimited::rest_line;

use super::context::FollowUpCall;
use super::rendering::{RenderTarget, Rendering};
use super::walk::{PartWalk, ReplyContent};
use crate::cursor::{PartOffset, Position};
use crate::paging::{ArgumentValue, PagingArgument, PagingRole, requested_count, selects_pages};
use crate::payload::{NextPage, TransportPage, UpstreamList};
use crate::snapshot::{IndexedText, Layout, List, Part, Snapshot, Structure, UpstreamPage, is_round_page};
use crate::view::Target;

/// The extent of the upstream beyond the list of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpstreamRest {
    /// It has this number of items in all.
    Total(u64),
    /// It has more items.
    More,
    /// It may have more: the list has as many items as were asked for.
    Unknown,
}

/// Returns what the upstream has beyond the first list of a snapshot that is one of its pages, or `None` if there is none. A
/// list that is fetched page by page has an extent of its own.
pub fn upstream_rest(snapshot: &Snapshot) -> Option<UpstreamRest> {
    if snapshot.upstream_list().is_some() {
        return None;
    }
    let rest = |subject: &IndexedText| {
        let Structure::List(list) = &subject.structure else { return None };
        let (arguments, transport) = (snapshot.paging(), snapshot.transport_page());
        let page = list.upstream_page(&subject.text, selects_pages(arguments));
        if let Some(total) = stated_total(list, page.as_ref(), transport) {
            return Some(UpstreamRest::Total(total));
        }
        let has_more = page.as_ref().and_then(|page| page.has_more);
        if has_more == Some(true) || transport.is_some_and(|page| page.next.is_some()) {
            return Some(UpstreamRest::More);
        }
        let count = list.len() as u64;
        let is_full = page.is_none()
            && requested_count(arguments).map_or_else(|| is_round_page(count), |request| request == count);
        let pages = |role| matches!(role, PagingRole::Offset | PagingRole::Page);
        let may_go_on = || arguments.iter().filter_map(PagingArgument::role).any(pages);
        (is_full && may_go_on()).then_some(UpstreamRest::Unknown)
    };
    snapshot.parts().iter().filter_map(Part::indexed_text).find_map(rest)
}

/// Maximum bytes of the words beside data that are repeated.
const MAX_WORDS_BYTES: usize = 200;
/// Words that say that a result is not all there is.
const CAVEATS: [&str; 4] = ["incomplete", "partial", "truncated", "warning"];

/// Returns the words around the data of a result that have numbers, because they may say that it is a page: those
/// around JSON, the first line above a table or a log, the line below it that stands for others, short texts beside
/// other blocks, sentences beside a list, and its last item if that is no record. It returns members that say something
/// against completeness too.
///
/// `[Showing rows 1-1000 of 2501 total]`
pub fn words_beside(snapshot: &Snapshot) -> Option<String> {
    let (mut found, mut caveats) = (Vec::<String>::new(), Vec::new());
    for part in snapshot.parts() {
        // What repeats a text has its words.
        let Some(subject) = part.indexed_text().filter(|_| part.duplicate.is_none()) else { continue };
        if let Some(origin) = &part.json_origin {
            let around = origin.description.split('`').skip(1).step_by(2);
            found.extend(around.map(str::to_owned));
        }
        match &subject.structure {
            Structure::List(list) => {
                caveats.extend(list.caveats(&subject.text));
                let texts = list.enclosing_objects.iter().flat_map(|object| &object.members);
                let texts = texts.filter(|member| member.kind == JsonKind::String);
                let texts = texts.map(|member| unescape(member.value.slice(&subject.text)));
                found.extend(texts.filter(|text| text.matches(' ').count() > 1));
                found.extend(last_words(&subject.text, list));
            }
            Structure::Text(_) if snapshot.parts().len() > 1 && subject.text.len() <= MAX_WORDS_BYTES => {
                found.push(subject.text.to_string());
            }
            Structure::Text(index) if matches!(index.chunker.kind(), TextKind::Log | TextKind::Table) => {
                let mut lines = subject.text.lines().map(str::trim);
                let first = lines.next().unwrap_or_default().to_owned();
                found.extend(lines.next().is_some_and(str::is_empty).then_some(first));
                found.extend(rest_line(&subject.text).map(str::to_owned));
            }
            Structure::Text(_) => found.extend(line_below_table(&subject.text).map(str::to_owned)),
            Structure::Object(_) => {}
        }
    }
    let is_told = |words: &String| {
        let lower = words.to_lowercase();
        words.contains(char::is_alphabetic)
            && (words.contains(|c: char| c.is_ascii_digit())
                || CAVEATS.iter().any(|caveat| lower.contains(caveat)))
    };
    found.retain(|words| {
        words.len() <= MAX_WORDS_BYTES && is_told(words) && !caveats.iter().any(|told| told.contains(words))
    });
    found.append(&mut caveats);
    let words = found.join("; ");
    (!words.is_empty()).then(|| words[..words.floor_char_boundary(4 * MAX_WORDS_BYTES)].to_owned())
}

/// Returns the last item of a list of records if it is a text, or has none of the fields of the first one.
fn last_words(text: &str, list: &List) -> Option<String> {
    let mut items = list.iter_from(text, 0).take(1).chain(list.iter_from(text, list.len().checked_sub(1)?));
    let (record, end) = (items.next()?.value.slice(text), items.next()?.value.slice(text));
    let keys = |record: &str| -> Vec<String> {
        let whole = Span::new(0, record.len());
        members(record, whole).map(|member| member.key.slice(record).to_owned()).collect()
    };
    let known = keys(record);
    let is_marker = match JsonKind::of_value(end) {
        JsonKind::String => true,
        JsonKind::Object => !keys(end).iter().any(|key| known.contains(key)),
        _ => false,
    };
    (is_marker && !known.is_empty() && list.layout == Layout::Array).then(|| end.trim_matches('"').to_owned())
}

/// Returns the last line of a text below a table of Markdown.
fn line_below_table(text: &str) -> Option<&str> {
    let mut lines = text.trim_end().lines().rev().filter(|line| !line.trim().is_empty());
    let (last, above) = (lines.next()?, lines.next()?);
    let is_row = |line: &str| line.trim_start().starts_with('|');
    (is_row(above) && !is_row(last)).then_some(last)
}

/// Returns the total of which a list is a page, as stated by the payload, or else by the transport.
fn stated_total(list: &List, page: Option<&UpstreamPage>, transport: Option<&TransportPage>) -> Option<u64> {
    let reported = || transport?.total.filter(|total| *total > list.len() as u64);
    page.and_then(|page| page.total).or_else(reported)
}

/// Adds the upstream's next page to the notice of the first and the last page, if the payload or the transport names it.
pub(super) fn note_upstream_page(target: &RenderTarget<'_>, list: &List, rendering: &mut Rendering) {
    let sent = translated_page(target);
    rendering.meta.sent.clone_from(&sent);
    if !is_noted(target, rendering) {
        return;
    }
    let paging = UpstreamPaging::new(target.paging_arguments, list.len() as u64, target.read_call);
    let page = list.upstream_page(&target.subject.text, selects_pages(target.paging_arguments));
    rendering.meta.upstream_total = stated_total(list, page.as_ref(), target.transport_page);
    // A member that leads to the next page can be passed as an argument, which a link cannot.
    let named = target.transport_page.and_then(|page| page.next.as_ref());
    let named = named.filter(|_| page.as_ref().is_none_or(|page| page.next_member.is_none()));
    let next = match (named, page) {
        (Some(next), _) => Some(named_call(next, target.paging_arguments)),
        (None, Some(page)) => paging.next_call(&page),
        (None, None) => paging.call_after_full_page(),
    };
    let Some(next) = next else { return };
    rendering.meta.upstream_next = Some(next);
    // A page by number that is not the last one, and shorter than asked for.
    let received = list.len();
    let request = requested_count(target.paging_arguments).filter(|request| *request > received as u64);
    if let Some((sent, request)) = sent.zip(request) {
        let short = format!(
            "{sent}; the tool returned {received} of {request} items, so page skips some: use the offset"
        );
        rendering.meta.sent = Some(short);
    }
}

/// Adds the upstream's next chunk to the notice of the first and the last chunk of a text, if the transport names it. Unlike
/// [`note_upstream_step`], this is also for a part that was asked for by its path.
pub(super) fn note_upstream_chunk(target: &RenderTarget<'_>, rendering: &mut Rendering) {
    rendering.meta.sent = translated_page(target);
    let next = target.transport_page.and_then(|page| page.next.as_ref());
    if let Some(next) = next.filter(|_| is_noted(target, rendering)) {
        rendering.meta.upstream_next = Some(named_call(next, target.paging_arguments));
    }
}

/// Adds the upstream's next step to the notice of the first and the last reply about everything, whatever its kind, if the
/// transport names it and the rendering does not.
pub(super) fn note_upstream_step(walk: &PartWalk<'_>, content: &mut ReplyContent<'_>) {
    let (snapshot, request) = (walk.snapshot, walk.request);
    let is_end = request.start == Position::default() || content.next_position.is_none();
    let is_noted = is_end
        && matches!(request.view.target, Target::Everything)
        && snapshot.answer().is_none()
        && snapshot.upstream_list().is_none();
    let next = snapshot.transport_page().and_then(|page| page.next.as_ref()).filter(|_| is_noted);
    if let (Some(next), Some(part)) = (next, content.notice_part.as_mut())
        && part.rendering.meta.upstream_next.is_none()
    {
        part.rendering.meta.upstream_next = Some(named_call(next, snapshot.paging()));
    }
}

/// Returns the offset that was sent to the upstream in place of the number of a page, for the first reply.
fn translated_page(target: &RenderTarget<'_>) -> Option<String> {
    let mut arguments = target.paging_arguments.iter();
    let sent = arguments.find_map(|argument| match argument.value {
        ArgumentValue::Translated(offset) => Some(format!("{}={offset} in place of page", argument.name)),
        _ => None,
    });
    sent.filter(|_| target.is_first() && !target.is_singled_out && !target.is_answer)
}

fn is_noted(target: &RenderTarget<'_>, rendering: &Rendering) -> bool {
    let is_end = target.is_first() || rendering.next.is_none();
    target.upstream_list.is_none() && !target.is_singled_out && !target.is_answer && is_end
}

/// Extends a page of a list that is fetched page by page to the whole list: its total, and a next page after the
/// fetched items. `end`: index of the item after the page. Returns true if the upstream has more items.
pub(super) fn note_fetched_list(target: &RenderTarget<'_>, end: usize, rendering: &mut Rendering) -> bool {
    let Some(list) = target.upstream_list.filter(|list| rendering.total_count == Some(list.fetched)) else {
        return false;
    };
    if list.skipped > 0 {
        rendering.total_count = list.total_count();
        rendering.meta.offset = Some(rendering.meta.offset.unwrap_or_default() + list.skipped);
    }
    if list.is_partial {
        rendering.total_count = list.total_count();
        // A reply without items is the end of what could be fetched, unless the fetch goes on.
        let goes_on = list.stop_reason.as_deref() == Some(UpstreamList::STILL_FETCHING);
        if rendering.next.is_none() && (rendering.meta.served != Some(0) || goes_on) {
            rendering.next = u32::try_from(end).ok().map(PartOffset::Item);
            rendering.meta.has_more = Some(true);
        }
    }
    rendering.meta.upstream_gap = list.describe_gap();
    rendering.meta.has_changed = list.has_changed;
    list.is_partial
}

/// Adds what was not fetched of a list to the notice of a reply that shows the list, or what contains it, in another way than
/// by its items.
pub(super) fn note_gap(walk: &PartWalk<'_>, content: &mut ReplyContent<'_>) {
    let list = walk.snapshot.upstream_list().filter(|_| shows_main_list(walk));
    let part = content.notice_part.as_mut().filter(|part| walk.main_part == Some(part.part_index));
    if let (Some(list), Some(part)) = (list, part) {
        let meta = &mut part.rendering.meta;
        meta.upstream_gap = meta.upstream_gap.take().or_else(|| list.describe_gap());
        meta.has_changed = list.has_changed;
    }
}

/// Returns true if the main list, or what contains it, is selected.
fn shows_main_list(walk: &PartWalk<'_>) -> bool {
    let Target::Value(value) = &walk.request.view.target else { return true };
    let part =
        walk.main_part.filter(|at| *at == usize::from(value.part)).map(|at| &walk.snapshot.parts()[at]);
    let Some(Structure::List(list)) = part.and_then(Part::indexed_text).map(|text| &text.structure) else {
        return false;
    };
    let inside = list.pointer.strip_prefix(value.pointer.as_str());
    inside.is_some_and(|inside| inside.is_empty() || inside.starts_with('/'))
}

/// Longest URL of a next page that is shown.
const MAX_LINK_BYTES: usize = 200;

/// The paging arguments of a call, and the number of items of its result.
#[derive(Clone, Copy)]
pub(super) struct UpstreamPaging<'a> {
    arguments: &'a [PagingArgument],
    item_count: u64,
    read_call: FollowUpCall<'a>,
}

/// The start of a page in the upstream's list.
#[derive(Clone, Copy)]
struct PageStart {
    /// Items before the page, or fewer where the first number of the upstream is unknown.
    items_before: u64,
    /// Value of the argument for the next page.
    next: u64,
}

impl<'a> UpstreamPaging<'a> {
    pub(super) fn new(arguments: &'a [PagingArgument], item_count: u64, read_call: FollowUpCall<'a>) -> Self {
        Self { arguments, item_count, read_call }
    }

    /// Returns the call for the upstream's next page, or `None` if this is the last one.
    pub(super) fn next_call(&self, page: &UpstreamPage) -> Option<String> {
        if page.has_more == Some(false) {
            return None;
        }
        let token =
            page.next_member.as_ref().map(|(_, value)| value.as_str()).filter(|value| !value.ends_with('…'));
        let link = token.filter(|value| value.contains("://") || value.starts_with(['/', '?']));
        let token = token.filter(|_| link.is_none());
        let number = token.and_then(|value| value.parse::<u64>().ok());
        // A token that has the name of an argument is its next value, as Airtable's `offset`.
        let name = page.next_member.as_ref().and_then(|(path, _)| path.rsplit('.').next());
        let mut named = self.arguments.iter().filter(|_| number.is_none());
        let namesake = named.find(|argument| name == Some(argument.name.as_str()));
        if let (Some(argument), Some(value)) = (namesake.or_else(|| self.find(PagingRole::Cursor)), token) {
            return Some(repeated_with(argument, value));
        }
        if let Some(call) = link.and_then(|link| argument_of_link(link, self.arguments)) {
            return Some(call);
        }
        let total = page.total.filter(|_| page.has_more.is_none());
        let by_page = self.find(PagingRole::Page);
        let by_offset = self.find(PagingRole::Offset);
        let by_page =
            by_page.filter(|page| page.is_given() || !by_offset.is_some_and(PagingArgument::is_given));
        if let Some(argument) = by_page {
            if let Some(next) = page.next_page.or(number) {
                return Some(repeated_with(argument, &next.to_string()));
            }
            if let Some(start) = self.page_start(argument) {
                return self.call_from(argument, start, total);
            }
        }
        if let Some(argument) = by_offset {
            if let Some((_, next)) = &page.next_offset {
                return Some(repeated_with(argument, &next.to_string()));
            }
            if let Some(start) = self.offset_start(argument) {
                return self.call_from(argument, start, total);
            }
        }
        if let Some(argument) = self.find(PagingRole::LastId).filter(|_| page.has_more == Some(true)) {
            return Some(repeated_with(argument, "id of the last item"));
        }
        Some(match (&page.next_member, another_of(self.arguments), self.read_call) {
            (_, Some(call), _) => call,
            (Some((name, value)), None, _) => format!("{name}: {value}"),
            // Parameters that the gateway does not know as the API's own are its controls.
            (None, None, FollowUpCall::Http(_)) if self.arguments.is_empty() => {
                "the API has more; the operator must name its paging parameters with --api-parameter"
                    .to_owned()
            }
            // The arguments of the tool are unknown, or it has none.
            (None, None, _) => match &page.next_offset {
                Some((name, offset)) => format!("the upstream has more, from {name}={offset} on"),
                None => "the upstream has more; change the arguments".to_owned(),
            },
        })
    }

    /// Returns the call for a next page that may exist: this page has as many items as the call asks for.
    pub(super) fn call_after_full_page(&self) -> Option<String> {
        if requested_count(self.arguments)? != self.item_count {
            return None;
        }
        let offset = self
            .find(PagingRole::Offset)
            .filter(|_| !self.find(PagingRole::Page).is_some_and(PagingArgument::is_given));
        let call = if let Some(argument) = offset {
            self.call_from(argument, self.offset_start(argument)?, None)
        } else {
            let argument = self.find(PagingRole::Page)?;
            self.call_from(argument, self.page_start(argument)?, None)
        };
        call.map(|call| format!("{call}, if there are more"))
    }

    fn find(&self, role: PagingRole) -> Option<&'a PagingArgument> {
        self.arguments.iter().find(|argument| argument.role() == Some(role))
    }

    /// Returns the start of this page by an argument for its number. Pages are counted from 1 where nothing says otherwise.
    fn page_start(&self, argument: &PagingArgument) -> Option<PageStart> {
        let number = if argument.value == ArgumentValue::Absent {
            argument.default.unwrap_or(1)
        } else {
            argument.number()?
        };
        let size = requested_count(self.arguments).unwrap_or(self.item_count);
        let items_before = number.saturating_sub(1).saturating_mul(size);
        Some(PageStart { items_before, next: number.checked_add(1)? })
    }

    /// Returns the start of this page by an argument for its offset.
    fn offset_start(&self, argument: &PagingArgument) -> Option<PageStart> {
        let offset = if argument.value == ArgumentValue::Absent {
            argument.default.unwrap_or(0)
        } else {
            argument.number()?
        };
        let first = argument.default.filter(|first| *first <= 1).unwrap_or(0);
        let step = if self.item_count == 0 { requested_count(self.arguments)? } else { self.item_count };
        Some(PageStart { items_before: offset.saturating_sub(first), next: offset.checked_add(step)? })
    }

    /// Returns the call for the page after the one that starts there, or `None` if that page ends at the total.
    fn call_from(&self, argument: &PagingArgument, start: PageStart, total: Option<u64>) -> Option<String> {
        let end = start.items_before.saturating_add(self.item_count);
        if total.is_some_and(|total| end >= total) {
            return None;
        }
        // An upstream that counts pages from 0 would skip one.
        let is_assumed = argument.role() == Some(PagingRole::Page)
            && argument.value == ArgumentValue::Absent
            && argument.default.is_none();
        let assumed = if is_assumed { ", if its pages count from 1" } else { "" };
        Some(format!("{}{assumed}", repeated_with(argument, &start.next.to_string())))
    }
}

/// Returns the call for the next page that the transport names.
pub(super) fn named_call(next: &NextPage, arguments: &[PagingArgument]) -> String {
    match next {
        NextPage::Call(call) => call.to_string(),
        NextPage::Link(link) => linked_call(link, arguments),
    }
}

fn linked_call(link: &str, arguments: &[PagingArgument]) -> String {
    let shown = || match link.len() {
        ..=MAX_LINK_BYTES => link.to_owned(),
        _ => "the upstream has more; its URL is too long to show".to_owned(),
    };
    argument_of_link(link, arguments).or_else(|| another_of(arguments)).unwrap_or_else(shown)
}

/// Returns the call with another value of the arguments that select a page, or of a larger one if there are none.
fn another_of(arguments: &[PagingArgument]) -> Option<String> {
    let is_limit = |argument: &&PagingArgument| argument.role() == Some(PagingRole::Limit);
    let (limits, others): (Vec<_>, Vec<_>) = arguments.iter().partition(is_limit);
    let (change, arguments) = if others.is_empty() { ("a larger", limits) } else { ("another", others) };
    let names: Vec<&str> = arguments.iter().map(|argument| argument.name.as_str()).collect();
    (!names.is_empty()).then(|| format!("repeat the call with {change} {}", names.join(", ")))
}

/// Returns the call with the argument that selects the page in the query of a URL, if the tool has that argument.
fn argument_of_link(link: &str, arguments: &[PagingArgument]) -> Option<String> {
    let query = link.split('#').next().and_then(|url| url.split_once('?')).map_or("", |(_, query)| query);
    let parameters = query.split('&').filter_map(|parameter| parameter.split_once('='));
    // An encoded value is another text than the argument.
    parameters.filter(|(_, value)| !value.contains(['%', '+'])).find_map(|(name, value)| {
        let argument = arguments.iter().find(|argument| argument.name == name)?;
        argument.role().filter(|role| *role != PagingRole::Limit)?;
        Some(repeated_with(argument, value))
    })
}

fn repeated_with(argument: &PagingArgument, value: &str) -> String {
    let replaced =
        if matches!(argument.value, ArgumentValue::Translated(_)) { " in place of page" } else { "" };
    format!("repeat the call with {}={value}{replaced}", argument.name)
}

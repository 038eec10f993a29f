//! Resolves a request into a view of a snapshot.

use std::sync::Arc;

use portion_json::containers;
use portion_json::path::step_from_quoted;
use portion_json::scan::JsonKind;
use portion_json::span::Span;
use portion_text::display::counted;

use super::field_names::select_fields;
use super::media;
use super::page_start::{NumberedPage, page_start};
use super::section::{SectionScope, SectionTarget};
use super::target::{focused_value, path_error, target_at_path, whole_part_value};
use super::{
    Pagination, Request, RequestedFields, Target, TargetValue, TextRange, View, ViewError, order, section,
    target,
};
use crate::cursor::{PartOffset, Position};
use crate::paging::UnshownRange;
use crate::path::resolve_path;
use crate::policy::Policy;
use crate::snapshot::{IndexedText, Snapshot, Structure};

/// Levels of objects in which a text is looked for.
const MAX_TEXT_DEPTH: usize = 6;

/// A request resolved against a snapshot. Everything that it names exists.
#[derive(Clone, Debug)]
pub struct ResolvedRequest {
    /// View of the reply.
    pub view: View,
    /// Position at which the reply begins.
    pub start: Position,
    /// Tokens that the reply may cost.
    pub token_budget: usize,
    /// Tokens that a first reply may cost if it shows ranked records. Their selection depends on it.
    pub(crate) ranked_budget: usize,
    /// Tokens of these for the images and audio that the reply shows.
    pub(crate) media_tokens: usize,
    /// True if the caller gave a token budget or a limit. Chunks of text then have that size.
    pub(crate) has_explicit_size: bool,
    /// Items wanted in this reply, if it begins at a numbered position. The reply should hold all of them.
    pub(crate) item_count: Option<u32>,
    /// Set if a page was requested by number.
    pub(crate) numbered_page: Option<NumberedPage>,
    /// Items that the page before this one did not show, where that page is a result of its own.
    pub(crate) unshown: Option<UnshownRange>,
    /// True if the reply may cost more than the first one of its walk, and so may show more.
    pub(crate) has_larger_budget: bool,
    /// True if only the payload is requested.
    pub(crate) is_plain: bool,
    /// True if only the payload is requested, possibly with a token budget.
    pub(crate) is_plain_except_budget: bool,
    /// True if the reply goes on with the next part as long as it has room.
    pub(crate) fills_with_parts: bool,
    /// True if it continues an earlier reply, so its order is settled.
    pub(crate) is_continuation: bool,
    /// True if the reply shows a list that the request does not name.
    pub(crate) selects_list: bool,
}

impl ResolvedRequest {
    /// Returns the request of a plain call: the payload, with automatic selection.
    pub fn for_plain_call(policy: &Policy) -> Self {
        let (view, from) = (View::root(), Position::default());
        let tokens = policy.reply_target;
        Self {
            view,
            start: from,
            token_budget: tokens,
            ranked_budget: policy.ranked_target,
            media_tokens: 0,
            has_explicit_size: false,
            item_count: None,
            numbered_page: None,
            unshown: None,
            has_larger_budget: false,
            is_plain: true,
            is_plain_except_budget: true,
            fills_with_parts: false,
            is_continuation: false,
            selects_list: false,
        }
    }

    /// Sets the items that the page before this one did not show, where that page is a result of its own.
    #[must_use]
    pub fn with_unshown(self, unshown: Option<UnshownRange>) -> Self {
        Self { unshown, ..self }
    }
}

/// Resolves a request against a snapshot. `base` is the view and position of the request's cursor.
///
/// With a cursor, a new path, section, order, range or `raw` starts at its beginning. One that the cursor already has
/// continues at the cursor, as `limit` and `fields` do.
///
/// # Errors
/// Returns [`ViewError`] if the request names something that does not exist.
pub fn resolve(
    snapshot: &Snapshot,
    base: Option<(&View, Position)>,
    request: &Request,
    policy: &Policy,
) -> Result<ResolvedRequest, ViewError> {
    request.check()?;
    if base.is_none() && request.is_plain() {
        let plain = ResolvedRequest::for_plain_call(policy);
        let media = media::token_cost(snapshot, &plain.view, plain.start, policy);
        return Ok(ResolvedRequest {
            token_budget: plain.token_budget.max(media::reply_budget(media, snapshot, policy)),
            media_tokens: media,
            ..plain
        });
    }
    let (start_view, start) = match base {
        Some((view, from)) => (view.clone(), from),
        None => (View::root(), Position::default()),
    };
    let pagination = start_view.pagination.clone();
    let is_of_items = request.selects_items() && !start_view.raw;
    let list = is_of_items.then(|| target::largest_list(snapshot, &start_view)).flatten();
    let selects_list = list.is_some();
    let start_view = match list {
        Some(list) => View { target: list, ..start_view },
        None => start_view,
    };
    let (mut view, mut from) = select(snapshot, start_view, start, request, policy)?;
    if let Some((base_view, at)) = base.filter(|(base_view, _)| repeats_selection(request, &view, base_view))
    {
        view = continued_view(view, base_view);
        from = at;
    }
    let (mut count, mut numbered) = (None, None);
    if request.page.is_some() || request.offset.is_some() {
        if request.path.is_none() && request.section.is_none() && view.page_size().is_none() {
            // Other fields, or another order, of the same list keep its page size. Its first page may show less.
            view.pagination = pagination.map(|other| {
                Arc::new(Pagination { kept_fields: None, first_page_count: None, ..(*other).clone() })
            });
        }
        (from, count, numbered) = page_start(snapshot, &mut view, from, request, policy)?;
        view.is_section = false;
    }
    let view = view.with_id();
    let media = media::token_cost(snapshot, &view, from, policy);
    let tokens = token_budget(&view, request, media::reply_budget(media, snapshot, policy), policy);
    let sized = request.max_tokens.is_some() || view.limit.is_some();
    let unasked = Request { max_tokens: None, ..request.clone() }.is_plain();
    let roomy = count.is_none() && request.max_tokens.is_some_and(|max| max > policy.reply_target);
    let goes_on = base.is_some_and(|(_, at)| at == from && !at.offset.is_start());
    Ok(ResolvedRequest {
        view,
        start: from,
        token_budget: tokens,
        ranked_budget: request.max_tokens.unwrap_or(policy.ranked_target),
        media_tokens: media,
        has_explicit_size: sized,
        item_count: count,
        numbered_page: numbered,
        unshown: None,
        has_larger_budget: roomy,
        is_plain: false,
        is_plain_except_budget: base.is_none() && unasked,
        fills_with_parts: request.all,
        is_continuation: goes_on,
        selects_list,
    })
}

/// Returns true if a request repeats what its cursor selects. Callers often send all arguments again with a cursor.
fn repeats_selection(request: &Request, view: &View, base: &View) -> bool {
    request.selects_from_whole()
        && view.selects_same(base)
        && (request.section.is_none() || view.field_selection == base.field_selection)
}

/// Returns the view of a request that repeats what its cursor selects, with the page size of the walk.
fn continued_view(view: View, base: &View) -> View {
    let limit = view.limit.or(base.limit);
    let is_same_walk = limit == base.limit && view.field_selection == base.field_selection;
    let pagination = if is_same_walk { base.pagination.clone() } else { view.pagination };
    View { limit, pagination, ..view }
}

/// Applies what a request selects, other than a page. Returns the view and its start.
fn select(
    snapshot: &Snapshot,
    mut view: View,
    mut from: Position,
    request: &Request,
    policy: &Policy,
) -> Result<(View, Position), ViewError> {
    if let Some(limit) = request.limit {
        // Another page size starts a walk of its own, and so does a size for a first page that was as large as fits.
        let is_same_walk = view.limit == Some(limit) || !from.offset.is_start();
        view.pagination = view.pagination.filter(|pagination| pagination.page_size == limit && is_same_walk);
        view.limit = Some(limit);
    }
    if let Some(path) = &request.path {
        let target = target_at_path(snapshot, &view, path)?;
        let raw = matches!(&target, Target::Value(value) if value.is_binary());
        let limit = request.limit.filter(|_| !raw);
        view = View { target, limit, raw, ..View::default() };
        from = start_position(&view);
    }
    if let Some(name) = &request.section {
        view = section_view(snapshot, &view, name, request.limit, policy)?;
        from = start_position(&view);
    }
    if request.raw {
        view = raw_view(view);
        from = Position { offset: PartOffset::Byte(0), ..start_position(&view) };
    }
    if let Some(spec) = &request.sort {
        let value = focused_value(snapshot, &view)?;
        order::check_complete(snapshot, &value.subject, spec)?;
        view.order = Some(order::sort_order(value.part, &value.subject, spec, snapshot.redacted())?);
        view.target = Target::Value(value);
        from = start_position(&view);
    }
    if let Some(names) = &request.fields {
        if view.raw || view.range.is_some() {
            view = View { target: view.target, limit: view.limit, ..View::default() };
            from = start_position(&view);
        }
        let wanted = select_fields(snapshot, &view, names)?;
        if wanted != view.field_selection {
            view = View { field_selection: wanted, pagination: None, ..view };
        }
    }
    if request.start_line.is_some() || request.end_line.is_some() {
        view = line_range_view(snapshot, &view, request)?;
        from = start_position(&view);
    }
    Ok((view, from))
}

/// Returns the tokens that the reply may cost. `with_media`: the budget with its images and audio.
fn token_budget(view: &View, request: &Request, with_media: usize, policy: &Policy) -> usize {
    let selects_value =
        matches!(view.target, Target::Value(_)) || view.field_selection != RequestedFields::Auto;
    match request.max_tokens {
        Some(tokens) => tokens,
        None if request.all || view.is_explicit() || request.page_count.is_some() => policy.hard_cap,
        None if selects_value => policy.token_budget_threshold.max(with_media),
        None => policy.reply_target.max(with_media),
    }
}

/// Returns the view with the bytes that the upstream wrote.
fn raw_view(view: View) -> View {
    // A section of a text keeps its range, because its bytes are the upstream's.
    let as_written = |value: &TargetValue| value.source.len() == value.subject.text.len();
    let window = match &view.target {
        Target::Value(value) if as_written(value) => view.range.filter(|window| !window.is_line_range),
        _ => None,
    };
    View { raw: true, target: view.target, range: window, ..View::default() }
}

/// Returns the start of a view.
fn start_position(view: &View) -> Position {
    let part = match &view.target {
        Target::Everything => 0,
        Target::Value(value) => value.part,
    };
    let place = view.range.map_or(PartOffset::default(), |window| PartOffset::Byte(window.span.start));
    Position { part, ordinal: 0, offset: place }
}

fn section_view(
    snapshot: &Snapshot,
    view: &View,
    name: &str,
    limit: Option<u32>,
    policy: &Policy,
) -> Result<View, ViewError> {
    // The section of the cursor is looked up in the whole that it is a section of, and so are others that it lacks.
    if view.is_section && !matches!(&view.target, Target::Value(value) if value.pointer.is_empty()) {
        let whole = View { target: whole_target(snapshot, view), ..View::default() };
        let found = section_view(snapshot, &whole, name, limit, policy);
        if found.as_ref().is_ok_and(|found| found.selects_same(view)) {
            return found;
        }
        return section_in(snapshot, view, name, limit, policy).or_else(|error| found.map_err(|_| error));
    }
    section_in(snapshot, view, name, limit, policy)
}

/// Returns the whole part of a view's value.
fn whole_target(snapshot: &Snapshot, view: &View) -> Target {
    let Target::Value(value) = &view.target else { return Target::Everything };
    let whole = whole_part_value(snapshot, usize::from(value.part));
    whole.map_or(Target::Everything, |whole| Target::Value(Arc::new(whole)))
}

/// Returns the view of a section of what a view shows.
fn section_in(
    snapshot: &Snapshot,
    view: &View,
    name: &str,
    limit: Option<u32>,
    policy: &Policy,
) -> Result<View, ViewError> {
    let shown = focused_value(snapshot, view)?;
    // A section of a custom section is looked up in the value that the custom section was taken from.
    let focus = shown.field_subset.as_ref().map_or(&shown, |(_, whole)| whole);
    let inside = |error| {
        if shown.field_subset.is_some() {
            section::find_section(&shown.subject, name, &[])
        } else {
            Err(error)
        }
    };
    let section =
        section::find_section(&focus.subject, name, &policy.render_options.sections).or_else(inside)?;
    Ok(match section.target {
        SectionTarget::Custom(made) => match &made.scope {
            SectionScope::Items => {
                let wanted = RequestedFields::Only(made.fields);
                View {
                    target: Target::Value(Arc::clone(focus)),
                    field_selection: wanted,
                    limit,
                    ..View::default()
                }
            }
            SectionScope::Object(pointer) => {
                let value = resolve_path(&focus.subject, pointer)
                    .map_err(|unresolved| path_error(snapshot, pointer, unresolved))?
                    .span;
                let target = Target::Value(Arc::new(target::custom_section_value(
                    snapshot, focus, &made, pointer, value,
                )));
                View { target, limit, is_section: true, ..View::default() }
            }
        },
        SectionTarget::Value(pointer) => {
            let reached = resolve_path(&focus.subject, &pointer)
                .map_err(|unresolved| path_error(snapshot, &pointer, unresolved))?;
            let target = target::target_below(snapshot, focus, &reached.pointer, reached.span);
            View { target, limit, is_section: true, ..View::default() }
        }
        SectionTarget::Heading => {
            let window = Some(TextRange { span: section.span, is_line_range: false });
            View { target: Target::Value(Arc::clone(focus)), range: window, limit, ..View::default() }
        }
    })
}

fn line_range_view(snapshot: &Snapshot, view: &View, request: &Request) -> Result<View, ViewError> {
    let mut value = focused_value(snapshot, view)?;
    value = longest_text(snapshot, &value).unwrap_or(value);
    if value.subject.is_json() {
        // Line numbers of JSON count the lines of its text as the upstream wrote it, before base64.
        let text = if value.base64.is_some() { &value.subject.text } else { &value.source };
        let subject = IndexedText::from_text(text.clone());
        let own_bytes = subject.heap_bytes().saturating_sub(text.heap_bytes());
        let plain =
            TargetValue::new(value.part, value.pointer.clone(), subject, value.source.clone(), own_bytes);
        value = Arc::new(TargetValue { base64: value.base64.clone(), ..plain });
    }
    let Structure::Text(text) = &value.subject.structure else {
        return Err(ViewError::Range("only text has line ranges".into()));
    };
    let total = text.line_count() as i64;
    if total == 0 {
        return Err(ViewError::NoLines);
    }
    let from_end = |line: i64| if line < 0 { (total + line + 1).max(1) } else { line };
    let (first, last) = (from_end(request.start_line.unwrap_or(1)), from_end(request.end_line.unwrap_or(-1)));
    if first > total || first > last {
        let (start, end) = (request.start_line.unwrap_or(1), request.end_line.unwrap_or(-1));
        let why = if first > total {
            format!("the text has {}", counted(total as usize, "line"))
        } else {
            "the end is before the start".into()
        };
        return Err(ViewError::Range(format!("no lines {start} to {end}: {why}")));
    }
    let at = |line: i64| text.line_start(&value.subject.text, usize::try_from(line).unwrap_or_default());
    let window = Some(TextRange { span: Span::new(at(first - 1), at(last)), is_line_range: true });
    Ok(View { target: Target::Value(value), range: window, limit: request.limit, ..View::default() })
}

/// Returns the text that is most of an object, as in `{"content": "…"}`, if it has more lines than the object itself.
fn longest_text(snapshot: &Snapshot, value: &TargetValue) -> Option<Arc<TargetValue>> {
    let Structure::Object(object) = &value.subject.structure else { return None };
    let text = &value.subject.text;
    let (mut pointer, mut span) = (String::new(), object.span);
    for _ in 0..MAX_TEXT_DEPTH {
        let largest = containers::members(text, span).max_by_key(|member| member.value.len())?;
        if 2 * largest.value.len() < span.len() {
            return None;
        }
        pointer = format!("{pointer}/{}", step_from_quoted(largest.key.slice(text)));
        span = largest.value;
        if JsonKind::of_value(span.slice(text)) == JsonKind::Object {
            continue;
        }
        let Target::Value(found) = target::target_below(snapshot, value, &pointer, span) else { return None };
        let own_lines = text.lines().count();
        let is_longer =
            matches!(&found.subject.structure, Structure::Text(lines) if lines.line_count() > own_lines);
        return is_longer.then_some(found);
    }
    None
}

//! From a request to a view of one snapshot.

use std::sync::Arc;

use super::section::{self, Of, SectionPlace};
use super::target::{self, at_path, no_path, whole_part};
use super::{Node, Pace, Request, Target, View, ViewError, Wanted, Window, order};
use crate::cursor::{Place, Position};
use crate::media;
use crate::nearest::nearest;
use crate::path::follow;
use crate::policy::Policy;
use crate::projection::{Fields, LeftOut, pointer_to_dotted};
use crate::snapshot::{Form, Layout, List, Snapshot, Subject, Text};
use crate::span::Span;

/// A request held against a snapshot: everything it names exists.
#[derive(Clone, Debug)]
pub struct Asked {
    /// What is looked at.
    pub view: View,
    /// Where the reply begins.
    pub from: Position,
    /// Tokens the reply may cost.
    pub tokens: usize,
    /// How many of them are for the images and audio that it shows.
    pub(crate) media: usize,
    /// Whether the caller said how many tokens it may cost, or how many lines it is to have: then text is served in
    /// chunks of that size.
    pub(crate) sized: bool,
    /// Items wanted in this reply, where a place was asked for by number: all of them are to be in it.
    pub(crate) count: Option<u32>,
    /// Set where a page was asked for by its number.
    pub(crate) numbered: Option<Numbered>,
    /// Whether the reply may cost more than the first one of its walk, and so may show more than that did.
    pub(crate) roomy: bool,
    /// Whether nothing was asked but the payload.
    pub(crate) plain: bool,
    /// The same, but for how much the reply may cost.
    pub(crate) bare: bool,
    /// Whether it goes on where an earlier reply was: then its order is settled.
    pub(crate) goes_on: bool,
}

/// A page asked for by its number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbered {
    /// The number, from 1.
    pub page: u32,
    /// How many pages are asked for at once.
    pub pages: u32,
    /// Whether the size of a page is known: else it is what the first reply would show.
    pub sized: bool,
}

impl Asked {
    /// What a plain call asks for: the payload, as best fits.
    pub fn plain(policy: &Policy) -> Self {
        let (view, from) = (View::root(), Position::default());
        let tokens = policy.reply_target;
        Self {
            view,
            from,
            tokens,
            media: 0,
            sized: false,
            count: None,
            numbered: None,
            roomy: false,
            plain: true,
            bare: true,
            goes_on: false,
        }
    }
}

/// Holds a request against a snapshot. `base` is the view and place of the request's cursor.
///
/// With a cursor, a new path, section, order, range or `raw` starts at its beginning; `limit` and `fields` go on
/// where the cursor is.
///
/// # Errors
/// [`ViewError`] where the request names something that is not there.
pub fn resolve(
    snapshot: &Snapshot,
    base: Option<(&View, Position)>,
    request: &Request,
    policy: &Policy,
) -> Result<Asked, ViewError> {
    request.check()?;
    if base.is_none() && request.is_plain() {
        let plain = Asked::plain(policy);
        let media = media::due(snapshot, &plain.view, plain.from, policy);
        return Ok(Asked {
            tokens: plain.tokens.max(media::budget(media, snapshot, policy)),
            media,
            ..plain
        });
    }
    let (mut view, mut from) = match base {
        Some((view, from)) => (view.clone(), from),
        None => (View::root(), Position::default()),
    };
    let pace = view.pace.clone();
    if let Some(limit) = request.limit {
        // Pages of another size are another walk.
        view.pace = view.pace.filter(|pace| pace.size == limit);
        view.limit = Some(limit);
    }
    if let Some(path) = &request.path {
        let target = at_path(snapshot, &view, path)?;
        let raw = matches!(&target, Target::Node(node) if node.base64.is_some());
        let limit = request.limit.filter(|_| !raw);
        view = View { target, limit, raw, ..View::default() };
        from = start(&view);
    }
    if let Some(name) = &request.section {
        view = at_section(snapshot, &view, name, request.limit, policy)?;
        from = start(&view);
    }
    if request.raw {
        // A section of a text stays one: there, its bytes are the upstream's.
        let as_written = |node: &Node| node.source.len() == node.subject.text.len();
        let window = match &view.target {
            Target::Node(node) if as_written(node) => view.window.filter(|window| !window.lines),
            _ => None,
        };
        view = View { raw: true, target: view.target, window, ..View::default() };
        from = Position { place: Place::Byte(0), ..start(&view) };
    }
    if let Some(spec) = &request.sort {
        let node = focus(snapshot, &view)?;
        view.order = Some(order::order(node.part, &node.subject, spec)?);
        view.target = Target::Node(node);
        from = start(&view);
    }
    if let Some(names) = &request.fields {
        if view.raw || view.window.is_some() {
            view = View { target: view.target, limit: view.limit, ..View::default() };
            from = start(&view);
        }
        let wanted = wanted(snapshot, &view, names)?;
        if wanted != view.wanted {
            view = View { wanted, pace: None, ..view };
        }
    }
    if request.start_line.is_some() || request.end_line.is_some() {
        view = at_lines(snapshot, &view, request)?;
        from = start(&view);
    }
    let (mut count, mut numbered) = (None, None);
    if request.page.is_some() || request.offset.is_some() {
        if request.path.is_none() && request.section.is_none() && view.page_size().is_none() {
            // Other fields, or another order, of the same list: its pages are as large.
            view.pace = pace.map(|pace| Arc::new(Pace { keep: None, ..(*pace).clone() }));
        }
        (from, count, numbered) = jump(snapshot, &mut view, from, request, policy)?;
        view.section = false;
    }
    let view = view.named();
    let media = media::due(snapshot, &view, from, policy);
    let with_media = media::budget(media, snapshot, policy);
    let tokens = match request.max_tokens {
        Some(tokens) => tokens,
        None if view.is_explicit() || request.page_count.is_some() => policy.hard_cap,
        None if matches!(view.target, Target::Node(_)) || view.wanted != Wanted::Best => {
            policy.token_budget_threshold.max(with_media)
        }
        None => policy.reply_target.max(with_media),
    };
    let sized = request.max_tokens.is_some() || view.limit.is_some();
    let unasked = Request { max_tokens: None, ..request.clone() }.is_plain();
    let roomy = count.is_none() && request.max_tokens.is_some_and(|most| most > policy.reply_target);
    let goes_on = base.is_some_and(|(_, at)| at == from && !at.place.is_start());
    Ok(Asked {
        view,
        from,
        tokens,
        media,
        sized,
        count,
        numbered,
        roomy,
        plain: false,
        bare: base.is_none() && unasked,
        goes_on,
    })
}

/// The beginning of a view.
fn start(view: &View) -> Position {
    let part = match &view.target {
        Target::Everything => 0,
        Target::Node(node) => node.part,
    };
    let place = view.window.map_or(Place::default(), |window| Place::Byte(window.span.start));
    Position { part, ordinal: 0, place }
}

/// The one value that a view is about: its node, or the main part.
fn focus(snapshot: &Snapshot, view: &View) -> Result<Arc<Node>, ViewError> {
    if let Target::Node(node) = &view.target {
        return Ok(Arc::clone(node));
    }
    let part = snapshot.main_part().ok_or(ViewError::FieldNone("there is no text or JSON in this result"))?;
    Ok(Arc::new(whole_part(snapshot, part).ok_or(ViewError::FieldNone("that part holds no text"))?))
}

fn at_section(
    snapshot: &Snapshot,
    view: &View,
    name: &str,
    limit: Option<u32>,
    policy: &Policy,
) -> Result<View, ViewError> {
    let shown = focus(snapshot, view)?;
    // Beside a section of some fields are those of the value that it is of.
    let focus = shown.fields.as_ref().map_or(&shown, |(_, whole)| whole);
    let inside =
        |error| if shown.fields.is_some() { section::find(&shown.subject, name, &[]) } else { Err(error) };
    let section = section::find(&focus.subject, name, &policy.manner.sections).or_else(inside)?;
    Ok(match section.place {
        SectionPlace::Made(made) => match &made.of {
            Of::Items => {
                let wanted = Wanted::Some(made.fields);
                View { target: Target::Node(Arc::clone(focus)), wanted, limit, ..View::default() }
            }
            Of::Object(pointer) => {
                let value = follow(&focus.subject, pointer).map_err(|astray| no_path(pointer, astray))?.value;
                let target = Target::Node(Arc::new(target::made(snapshot, focus, &made, pointer, value)));
                View { target, limit, section: true, ..View::default() }
            }
        },
        SectionPlace::Value(pointer) => {
            let reached = follow(&focus.subject, &pointer).map_err(|astray| no_path(&pointer, astray))?;
            let target = target::below(snapshot, focus, &reached.pointer, reached.value);
            View { target, limit, section: true, ..View::default() }
        }
        SectionPlace::Text => {
            let window = Some(Window { span: section.span, lines: false });
            View { target: Target::Node(Arc::clone(focus)), window, limit, ..View::default() }
        }
    })
}

fn at_lines(snapshot: &Snapshot, view: &View, request: &Request) -> Result<View, ViewError> {
    let mut node = focus(snapshot, view)?;
    if node.subject.is_json() {
        // The lines of JSON are the lines of its text as the upstream wrote it.
        let subject = Subject::of_text(node.source.clone());
        let own_bytes = subject.heap_bytes().saturating_sub(node.source.heap_bytes());
        let (part, pointer) = (node.part, node.pointer.clone());
        let source = node.source.clone();
        node = Arc::new(Node { part, pointer, subject, source, base64: None, fields: None, own_bytes });
    }
    let Form::Text(text) = &node.subject.form else {
        return Err(ViewError::Range("line ranges are for text".into()));
    };
    let total = text.line_count() as i64;
    let from_end = |line: i64| if line < 0 { (total + line + 1).max(1) } else { line };
    let (first, last) = (from_end(request.start_line.unwrap_or(1)), from_end(request.end_line.unwrap_or(-1)));
    if first > total || first > last {
        let (start, end) = (request.start_line.unwrap_or(1), request.end_line.unwrap_or(-1));
        let why = if first > total {
            format!("the text has {total} lines")
        } else {
            "it ends before it begins".into()
        };
        return Err(ViewError::Range(format!("lines {start} to {end} are no range: {why}")));
    }
    let at = |line: i64| text.line_start(&node.subject.text, usize::try_from(line).unwrap_or_default());
    let window = Some(Window { span: Span::new(at(first - 1), at(last)), lines: true });
    Ok(View { target: Target::Node(node), window, limit: request.limit, ..View::default() })
}

/// A place, how many items are wanted there, and the page that it is.
type Jump = (Position, Option<u32>, Option<Numbered>);

fn jump(
    snapshot: &Snapshot,
    view: &mut View,
    from: Position,
    request: &Request,
    policy: &Policy,
) -> Result<Jump, ViewError> {
    if view.raw {
        let first = view.window.map_or(0, |window| window.span.start);
        let byte = first.saturating_add(request.offset.unwrap_or(0));
        return Ok((Position { place: Place::Byte(byte), ordinal: 0, ..from }, None, None));
    }
    let node = focus(snapshot, view)?;
    let fixed = view.page_size().or_else(|| {
        let list = matches!(node.subject.form, Form::List(_)) && policy.manner.fixed_pages;
        list.then_some(policy.default_page_size as u32)
    });
    let size = fixed.unwrap_or(match &node.subject.form {
        Form::Text(_) => policy.chunk_lines as u32,
        _ => policy.default_page_size as u32,
    });
    let at = match request.page {
        Some(page) => (page - 1).saturating_mul(size),
        None => request.offset.unwrap_or(0),
    };
    let place = match &node.subject.form {
        Form::List(_) => Place::Item(at),
        Form::Text(text) => line_place(text, &node.subject.text, view, at),
        Form::Object(_) if at == 0 || request.page == Some(1) => Place::Item(0),
        Form::Object(_) => return Err(ViewError::NoPages),
    };
    let part = node.part;
    view.target = Target::Node(node);
    let ordinal = request.page.map_or(0, |page| (page - 1).min(u32::from(u16::MAX)) as u16);
    let pages = request.page_count.unwrap_or(1);
    // A first page of no fixed size is as large as it turns out to be.
    let open = place.is_start() && fixed.is_none() && request.page_count.is_none();
    let count = (!open).then(|| size.saturating_mul(pages));
    let sized = fixed.is_some() || request.page_count.is_some();
    let numbered = request.page.map(|page| Numbered { page, pages, sized });
    Ok((Position { part, ordinal, place }, count, numbered))
}

/// The place of a line of a text: of a section, or of a range, counted from its beginning.
pub(crate) fn line_place(text: &Text, whole: &str, view: &View, line: u32) -> Place {
    let first = view.window.map_or(0, |window| window.span.start as usize);
    let line = text.line_at(whole, first).saturating_add(line as usize);
    Place::Byte(text.line_start(whole, line) as u32)
}

/// The fields that are named, every one of which some record has.
pub(crate) fn wanted(snapshot: &Snapshot, view: &View, names: &str) -> Result<Wanted, ViewError> {
    let fields = Fields::parse(names);
    if matches!(names.trim(), "all" | "*") {
        return Ok(Wanted::All);
    }
    let subjects: Vec<&Subject> = match &view.target {
        Target::Node(node) => vec![&node.subject],
        Target::Everything => snapshot.parts().iter().filter_map(|part| part.subject()).collect(),
    };
    let json: Vec<&Subject> = subjects.into_iter().filter(|subject| subject.is_json()).collect();
    if json.is_empty() {
        return Err(ViewError::FieldNone("this is text, without fields"));
    }
    if snapshot.answer().is_some_and(|answer| answer.fields_known) {
        return Ok(Wanted::Some(fields));
    }
    let mut paths = Vec::new();
    for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let found: Vec<String> = json.iter().filter_map(|subject| field_path(subject, name)).collect();
        if found.is_empty() {
            let available: Vec<String> = json.iter().flat_map(|subject| field_names(subject)).collect();
            let nearest = nearest(name, available.iter().map(String::as_str));
            return Err(ViewError::Field { given: pointer_to_dotted(name), nearest, available });
        }
        paths.extend(found);
    }
    Ok(Wanted::Some(paths.into_iter().collect()))
}

/// The dotted path of the field that a caller names, where a subject has it: of what an envelope is about, else of the whole.
/// A JSON Pointer always begins at the root.
fn field_path(subject: &Subject, name: &str) -> Option<String> {
    let dotted = pointer_to_dotted(name);
    if let (Form::Object(members), false) = (&subject.form, name.starts_with('/')) {
        let (pointer, inner) = section::core(&subject.text, members);
        let own: Fields = std::iter::once(dotted.clone()).collect();
        if !pointer.is_empty() && has(inner.span.of(&subject.text), &own) {
            return Some(format!("{}.{dotted}", pointer_to_dotted(&pointer)));
        }
    }
    knows(subject, &dotted).then_some(dotted)
}

/// Whether any record of a subject has a field.
fn knows(subject: &Subject, name: &str) -> bool {
    // What the key of a map is called where it stands beside the fields: in questions.
    let is_map = matches!(&subject.form, Form::List(list) if list.layout == Layout::Map);
    is_map && name == "_key" || has_any(subject, &std::iter::once(name.to_owned()).collect())
}

/// Whether a record is an object that has any of those fields.
pub(super) fn has(record: &str, fields: &Fields) -> bool {
    record.trim_start().starts_with('{') && fields.project(record, &mut String::new(), &mut LeftOut::new())
}

/// Whether any record of a subject has any of those fields.
pub(super) fn has_any(subject: &Subject, fields: &Fields) -> bool {
    let text: &str = &subject.text;
    match &subject.form {
        Form::Object(_) => has(text, fields),
        Form::Text(_) => false,
        Form::List(list) => match &list.layout {
            Layout::Table { columns, .. } => columns.iter().any(|column| fields.wants(column)),
            _ => {
                list.profile.fields.iter().any(|field| fields.wants(&field.path))
                    || list.iter_from(text, 0).any(|item| has(item.value.of(text), fields))
            }
        },
    }
}

/// The names of a subject's fields, the most telling first.
pub(crate) fn field_names(subject: &Subject) -> Vec<String> {
    match &subject.form {
        Form::List(list) => list_field_names(list),
        Form::Object(members) => {
            // What an envelope is about is named as if it stood at the top.
            let (_, inner) = section::core(&subject.text, members);
            let fields = crate::snapshot::Profile::of_record(inner.span.of(&subject.text));
            fields.into_iter().map(|field| field.path).collect()
        }
        Form::Text(_) => Vec::new(),
    }
}

/// The names of the fields of a list's items, the most telling first; of a table, its columns.
pub(crate) fn list_field_names(list: &List) -> Vec<String> {
    match &list.layout {
        Layout::Table { columns, .. } => columns.clone(),
        _ => list.profile.fields.iter().map(|field| field.path.clone()).collect(),
    }
}

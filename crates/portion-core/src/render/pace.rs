//! Pages by number: how large they are, and what the page before did not show.

use std::borrow::Cow;

use super::{Context, compose, whole};
use crate::cursor::{CursorToken, Place, Position};
use crate::policy::Metadata;
use crate::snapshot::{Form, List, Snapshot};
use crate::view::{Asked, Target, View, Wanted, line_place};

/// Items, or bytes of a text, that the page before did not show.
#[derive(Clone, Debug)]
pub(super) struct NotShown {
    /// The first item, from 0; `None` in a text.
    pub offset: Option<usize>,
    /// How many items, or bytes.
    pub count: usize,
    /// Where they are.
    pub next: Option<CursorToken>,
}

/// The request with the size of its pages settled, and what the page before it left unshown.
pub(super) fn settle<'a>(
    snapshot: &Snapshot,
    asked: &'a Asked,
    cx: &Context<'_>,
    fresh: bool,
) -> (Cow<'a, Asked>, Option<NotShown>) {
    let Some(numbered) = asked.numbered.filter(|numbered| numbered.page > 1) else {
        return (Cow::Borrowed(asked), None);
    };
    let mut asked = Cow::Borrowed(asked);
    if !numbered.sized
        && let Some(size) = first_size(snapshot, &asked, cx, fresh)
        && let Some(place) = place(&asked.view, numbered.page, size)
    {
        let own = asked.to_mut();
        own.from.place = place;
        own.count = Some(size);
    }
    let not_shown = before(snapshot, &asked, cx, fresh);
    (asked, not_shown)
}

/// How many items, or lines, the first reply to this walk shows.
fn first_size(snapshot: &Snapshot, asked: &Asked, cx: &Context<'_>, fresh: bool) -> Option<u32> {
    let Target::Node(node) = &asked.view.target else { return None };
    let main = snapshot.main_part() == Some(usize::from(node.part)) && node.pointer.is_empty();
    // The first reply to a call shows the other parts as well.
    let target = if main { Target::Everything } else { asked.view.target.clone() };
    let opening = Asked {
        view: asked.view.of_target(target),
        from: Position { part: if main { 0 } else { node.part }, ..Position::default() },
        tokens: if main { asked.tokens.min(cx.policy.reply_target) } else { asked.tokens },
        count: None,
        numbered: None,
        plain: main && fresh && asked.view.wanted == Wanted::Best && asked.view.order.is_none(),
        ..asked.clone()
    };
    if passes(snapshot, &opening, cx) {
        return match &node.subject.form {
            Form::List(list) => Some(list.len().max(cx.policy.default_page_size) as u32),
            Form::Text(text) => Some(text.line_count().max(cx.policy.chunk_lines) as u32),
            Form::Object(_) => None,
        };
    }
    let first = compose(snapshot, &opening, cx, fresh);
    first.pace.filter(|pace| pace.part == node.part).map(|pace| pace.size)
}

/// Whether the first reply shows the payload as it came.
fn passes(snapshot: &Snapshot, opening: &Asked, cx: &Context<'_>) -> bool {
    let always = cx.policy.manner.metadata == Metadata::Always;
    let untouched = (always || whole::is_silent(snapshot)) && whole::passes(snapshot, opening, cx).is_some();
    untouched && (!always || whole(snapshot, opening, cx).is_some())
}

/// Where a page begins.
fn place(view: &View, page: u32, size: u32) -> Option<Place> {
    let Target::Node(node) = &view.target else { return None };
    let at = (page - 1).saturating_mul(size);
    match &node.subject.form {
        Form::List(_) => Some(Place::Item(at)),
        Form::Text(text) => Some(line_place(text, &node.subject.text, view, at)),
        Form::Object(_) => None,
    }
}

/// What the page before, drawn within the same limits, does not show.
fn before(snapshot: &Snapshot, asked: &Asked, cx: &Context<'_>, fresh: bool) -> Option<NotShown> {
    let numbered = asked.numbered?;
    let Target::Node(node) = &asked.view.target else { return None };
    let (page, count) = (numbered.page.checked_sub(numbered.pages).filter(|page| *page > 0)?, asked.count?);
    let size = count / numbered.pages.max(1);
    let start = place(&asked.view, page.max(1), size)?;
    let fixed = asked.view.pace.as_deref().filter(|fixed| fixed.part == node.part && fixed.size == size);
    let opened = fixed.and_then(|fixed| fixed.opened).filter(|_| page == 1 && numbered.pages == 1);
    let reached = if let (Some(opened), Form::List(_)) = (opened, &node.subject.form) {
        Position { place: Place::Item(opened), ..asked.from }
    } else {
        let ordinal = (page - 1).min(u32::from(u16::MAX)) as u16;
        let from = Position { place: start, ordinal, ..asked.from };
        let previous = Asked { from, numbered: None, ..asked.clone() };
        compose(snapshot, &previous, cx, fresh).next_at?
    };
    (reached.part == asked.from.part).then(|| between(node, reached, asked.from, cx)).flatten()
}

fn between(
    node: &crate::view::Node,
    reached: Position,
    from: Position,
    cx: &Context<'_>,
) -> Option<NotShown> {
    let (offset, count) = match (&node.subject.form, reached.place, from.place) {
        (Form::List(list), place, Place::Item(to)) => {
            let offset = item_of(list, &node.subject.text, place)?;
            (Some(offset), (to as usize).min(list.len()).checked_sub(offset)?)
        }
        (Form::Text(_), Place::Byte(at), Place::Byte(to)) => (None, to.checked_sub(at)? as usize),
        _ => return None,
    };
    (count > 0).then(|| NotShown { offset, count, next: (cx.mint)(reached) })
}

/// The item that a place is before, or inside of.
fn item_of(list: &List, text: &str, place: Place) -> Option<usize> {
    match place {
        Place::Item(at) => Some(at as usize),
        Place::Byte(at) => list.item_at(text, at as usize).map(|item| item.index),
    }
}

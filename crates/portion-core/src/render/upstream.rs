//! Says of a page that it is a page of the upstream's own, and how the upstream goes on.

use serde_json::Value;

use super::drawn::{Drawn, Spot};
use crate::paging::{CURSORS, LAST_IDS, OFFSETS, PAGES, is_one_of};
use crate::snapshot::{List, UpstreamPage};

/// Says in a page's notice that the upstream has more, where its payload says so: of the first page and the last.
pub(super) fn say(spot: &Spot<'_>, list: &List, drawn: &mut Drawn) {
    if spot.singled_out || spot.answers || !(spot.is_first() || drawn.next.is_none()) {
        return;
    }
    let Some(page) = list.upstream_page(&spot.subject.text) else { return };
    if let Some(total) = page.total {
        drawn.say("upstreamTotal", total);
    }
    if let Some(on) = on(&page, spot.paging) {
        drawn.say("upstreamNext", Value::from(on));
    }
}

/// How the upstream goes on; `None` where it says that this is its last page.
fn on(page: &UpstreamPage, arguments: &[String]) -> Option<String> {
    if page.more == Some(false) {
        return None;
    }
    let argument = |names: &[&str]| arguments.iter().find(|name| is_one_of(name, names));
    let token = page.next.as_ref().filter(|(_, value)| !value.contains("://") && !value.ends_with('…'));
    let number = token.filter(|(_, value)| value.bytes().all(|b| b.is_ascii_digit()));
    let same = |assigned: String| Some(format!("the same call with {assigned}"));
    if let (Some(name), Some((_, value))) = (argument(CURSORS), token) {
        return same(format!("{name}={value}"));
    }
    if let Some(name) = argument(PAGES) {
        let next = page.next_page.map(|page| page.to_string());
        if let Some(next) = next.or_else(|| number.map(|(_, value)| value.clone())) {
            return same(format!("{name}={next}"));
        }
    }
    if let (Some(name), Some(next)) = (argument(OFFSETS), page.next_offset) {
        return same(format!("{name}={next}"));
    }
    if let (Some(name), true) = (argument(LAST_IDS), page.more == Some(true)) {
        return same(format!("{name}=the id of the last item"));
    }
    if !arguments.is_empty() {
        return same(format!("another {}", arguments.join(", ")));
    }
    match &page.next {
        Some((name, value)) => Some(format!("{name}: {value}")),
        None => Some("the upstream has more, by arguments of the call".into()),
    }
}

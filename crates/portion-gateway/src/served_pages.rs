//! Records how much of each page the replies to tools that page their own results have shown, for the next page by number.
//!
//! Each page is a result of its own, which may be passed on untouched, and then is in no store. The record is of this
//! process, and bounded: where it is missing, a page by number begins where the caller's own limit puts it.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;
use portion_core::cursor::{CursorToken, Scope};
use portion_core::render::PortionKind;
use portion_core::snapshot::{Snapshot, Structure};

use crate::call::{Reply, ReuseKey};

/// Pages that are remembered.
const MAX_PAGES: usize = 4_096;

/// One page of a tool, and what the reply to its call showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedPage {
    /// Number of items that the tool returned.
    pub received: usize,
    /// Number of these that the reply showed.
    pub shown: usize,
    /// Cursor to the others.
    pub next_cursor: Option<CursorToken>,
}

/// The pages served lately, by caller and call.
#[derive(Default)]
pub(crate) struct ServedPages(Mutex<Recorded>);

#[derive(Default)]
struct Recorded {
    pages: HashMap<(Scope, ReuseKey), ServedPage>,
    /// Keys of the pages, the oldest first.
    order: VecDeque<(Scope, ReuseKey)>,
}

impl ServedPage {
    /// Describes a first reply. Returns `None` if it is not about a list.
    pub(crate) fn from_reply(reply: &Reply, snapshot: &Snapshot) -> Option<Self> {
        let main = snapshot.main_text()?;
        let Structure::List(list) = &main.structure else { return None };
        let received = list.len();
        match reply {
            Reply::Untouched => Some(Self { received, shown: received, next_cursor: None }),
            Reply::Portion(portion) if portion.is_whole() => {
                Some(Self { received, shown: received, next_cursor: None })
            }
            Reply::Portion(portion) if portion.kind() == PortionKind::Page => Some(Self {
                received,
                shown: portion.served_count()?.min(received),
                next_cursor: portion.next_cursor().cloned(),
            }),
            Reply::Portion(_) | Reply::Fault(_) => None,
        }
    }
}

impl ServedPages {
    pub(crate) fn record(&self, scope: Scope, key: ReuseKey, page: ServedPage) {
        let mut recorded = self.0.lock();
        if recorded.pages.insert((scope, key), page).is_some() {
            return;
        }
        recorded.order.push_back((scope, key));
        if recorded.order.len() > MAX_PAGES {
            let oldest = recorded.order.pop_front();
            oldest.and_then(|key| recorded.pages.remove(&key));
        }
    }

    pub(crate) fn get(&self, scope: Scope, key: ReuseKey) -> Option<ServedPage> {
        self.0.lock().pages.get(&(scope, key)).cloned()
    }
}

#[cfg(test)]
mod tests {
    use portion_core::cursor::Scope;
    use portion_policy::endpoint::{Endpoint, EndpointKind};

    use super::{MAX_PAGES, ServedPage, ServedPages};
    use crate::call::ReuseKey;

    #[test]
    fn pages_are_remembered_by_caller_and_call_and_the_oldest_is_forgotten() {
        let endpoint =
            Endpoint { name: "list".into(), kind: EndpointKind::Tool, read_only: true, idempotent: true };
        let key = |number: usize| ReuseKey::new(&endpoint, &number.to_string());
        let page = |received| ServedPage { received, shown: received, next_cursor: None };
        let (pages, ada) = (ServedPages::default(), Scope::from_principal("ada"));
        for number in 0..=MAX_PAGES {
            pages.record(ada, key(number), page(number));
        }
        pages.record(ada, key(MAX_PAGES), page(7));
        assert_eq!(pages.get(ada, key(0)), None);
        assert_eq!(pages.get(ada, key(1)), Some(page(1)));
        assert_eq!(pages.get(ada, key(MAX_PAGES)), Some(page(7)));
        assert_eq!(pages.get(Scope::from_principal("bob"), key(1)), None);
    }
}

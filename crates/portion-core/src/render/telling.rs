//! What a first reply tells of the whole, beside the part of it that it shows: small and exact, so that many
//! questions need no second call.

use serde_json::{Map, Value};

use super::Context;
use super::left::is_left;
use super::walk::Channel;
use crate::snapshot::{Form, Snapshot};
use crate::tell;
use crate::view::{Asked, Target, Wanted};

/// What is told of one part.
pub(super) struct Telling {
    /// The index of the part.
    part: usize,
    /// What is told, the most useful first.
    pub told: Map<String, Value>,
    /// What that costs, in tokens.
    pub tokens: usize,
    /// Its bytes.
    pub bytes: usize,
}

impl Telling {
    /// What a walk that begins tells of what it is about; `None` where it goes on, where the caller has said what is
    /// wanted of it, and where there is nothing to tell.
    pub(super) fn of(
        snapshot: &Snapshot,
        asked: &Asked,
        cx: &Context<'_>,
        tokens: usize,
        fresh: bool,
    ) -> Option<Self> {
        let (view, from) = (&asked.view, asked.from);
        let named = view.limit.is_some() || view.wanted != Wanted::Best || view.order.is_some();
        let elsewhere = view.ranked().is_some() || view.raw || view.window.is_some() || asked.count.is_some();
        if named || elsewhere || from.ordinal > 0 || !from.place.is_start() || snapshot.answer().is_some() {
            return None;
        }
        let (part, subject) = match &view.target {
            Target::Node(node) => (usize::from(node.part), &node.subject),
            Target::Everything => {
                let part = snapshot.main_part()?;
                if fresh && asked.plain && is_left(snapshot, part, cx.policy) {
                    return None;
                }
                (part, snapshot.parts()[part].subject()?)
            }
        };
        let mut told = tell::told(subject, cx.counter, tokens);
        if matches!(subject.form, Form::Text(_)) {
            // Of a text, the keys are ours; else they are names of fields.
            let style = cx.policy.manner.metadata_style;
            told = told.into_iter().map(|(key, value)| (style.key(&key), value)).collect();
        }
        let json = Value::Object(told.clone()).to_string();
        let cost = cx.counter.count(&json);
        (!told.is_empty() && cost <= tokens).then_some(Self { part, told, tokens: cost, bytes: json.len() })
    }

    /// Whether it tells of what a reply shows in part.
    pub(super) fn is_of(&self, channel: &Channel<'_>) -> bool {
        let of_it = |part, kind| part == self.part && matches!(kind, "page" | "chunk" | "summary");
        channel.shaped.as_ref().is_some_and(|shaped| {
            let drawn = &shaped.drawn;
            of_it(shaped.part, drawn.kind) && (drawn.next.is_some() || drawn.leaves_out())
        })
    }
}

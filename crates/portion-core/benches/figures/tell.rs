//! Times descriptions of all records of a list.

use portion_core::missing_codes::MissingCodes;
use portion_core::policy::Policy;
use portion_core::render::first_reply;
use portion_core::snapshot::ListFacts;
use portion_core::snapshot::{List, Snapshot, Structure, capture};
use portion_core::view::{Request, resolve};
use portion_tokens::Tokenizer;

use crate::follow::with;
use crate::measure::{median, median_of, once, told};
use crate::samples::{payload, schools};
use crate::table::Table;

const ROUNDS: usize = 15;

pub(crate) fn figures(table: &mut Table) {
    let text = schools(12 << 20);
    let mut copies: Vec<String> = (0..ROUNDS).map(|_| text.clone()).collect();
    let take = median_of(ROUNDS, || capture(payload(copies.pop().unwrap_or_default())));
    let snapshot = capture(payload(text));
    let Some((text, list)) = list_of(&snapshot) else { return };
    let facts = median_of(ROUNDS, || ListFacts::from_list(text, list, &MissingCodes::default()));
    let found = ListFacts::from_list(text, list, &MissingCodes::default());
    let words = median_of(ROUNDS, || found.describe(Tokenizer::default().counter(), 600));
    table.add(&format!("capture of a list of {} records, 12 MB", list.len()), "", told(take));
    table.add("  facts of all its records", "≤ 20 ms", told(facts));
    table.add("  as much of them as fits 600 tokens", "", told(words));
    for (limits, policy) in [("default", Policy::default()), ("lean", Policy::default().lean())] {
        for tokenizer in [Tokenizer::O200k, Tokenizer::Auto] {
            measure_first_replies(table, limits, &policy, tokenizer);
        }
    }
}

/// Capture and the first reply, in turns with capture and a first page of which nothing is told.
fn measure_first_replies(table: &mut Table, limits: &str, policy: &Policy, tokenizer: Tokenizer) {
    let text = schools(12 << 20);
    let page = Request { limit: Some(policy.default_page_size as u32), ..Request::default() };
    let run = |request: &Request| {
        let copy = text.clone();
        once(|| {
            let snapshot = capture(payload(copy));
            let resolved = resolve(&snapshot, None, request, policy).ok();
            let reply =
                resolved.map(|resolved| with(policy, tokenizer, |cx| first_reply(&snapshot, &resolved, cx)));
            (snapshot, reply)
        })
    };
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        times[0].push(run(&page));
        times[1].push(run(&Request::default()));
    }
    let [plain, telling] = times.map(median);
    let ratio = telling.as_secs_f64() / plain.as_secs_f64();
    table.add(&format!("capture and first page, {limits}, {tokenizer}"), "", told(plain));
    table.add("  capture and first reply, facts told", "", told(telling));
    table.add("  how many times as long", "≤ 3 ×", format!("{ratio:.2} ×"));
}

fn list_of(snapshot: &Snapshot) -> Option<(&str, &List)> {
    let subject = snapshot.parts().first()?.indexed_text()?;
    match &subject.structure {
        Structure::List(list) => Some((&subject.text, list)),
        _ => None,
    }
}

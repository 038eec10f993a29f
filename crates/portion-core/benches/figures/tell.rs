//! What is told of all records of a list.

use portion_core::snapshot::{Form, List, Snapshot, capture};
use portion_core::tell::Facts;
use portion_core::tokens::Tokenizer;

use crate::measure::{median_of, told};
use crate::samples::{payload, schools};
use crate::table::Table;

const ROUNDS: usize = 15;

pub(crate) fn figures(table: &mut Table) {
    let text = schools(12 << 20);
    let mut copies: Vec<String> = (0..ROUNDS).map(|_| text.clone()).collect();
    let take = median_of(ROUNDS, || capture(payload(copies.pop().unwrap_or_default())));
    let snapshot = capture(payload(text));
    let Some((text, list)) = list_of(&snapshot) else { return };
    let facts = median_of(ROUNDS, || Facts::of(text, list));
    let found = Facts::of(text, list);
    let words = median_of(ROUNDS, || found.told(Tokenizer::default().counter(), 600));
    table.add(&format!("capture of a list of {} records, 12 MB", list.len()), "", told(take));
    table.add("  facts of all its records", "≤ 20 ms", told(facts));
    table.add("  as much of them as fits 600 tokens", "", told(words));
}

fn list_of(snapshot: &Snapshot) -> Option<(&str, &List)> {
    let subject = snapshot.parts().first()?.subject()?;
    match &subject.form {
        Form::List(list) => Some((&subject.text, list)),
        _ => None,
    }
}

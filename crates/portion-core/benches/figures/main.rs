//! The figures that Portion promises, measured: `cargo bench -p portion-core`.
//!
//! One table, each target beside what was measured. What is compared with each other is measured in turns within
//! one run, so that a busy machine slows both. Nothing fails here: a benchmark informs, tests decide.

mod capture;
mod decide;
mod find;
mod follow;
mod measure;
mod reply;
mod samples;
mod table;
mod tell;

use std::alloc::System;

use cap::Cap;

use table::Table;

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

fn main() {
    // `cargo test --all-targets` runs this too, and wants no figures.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    portion_tokens::Tokenizer::default().counter().count("build the tables");
    let arguments: Vec<String> = std::env::args().skip_while(|argument| argument != "reply").collect();
    if let [_, kind, count, ..] = arguments.as_slice() {
        return reply::make(kind, count.parse().unwrap_or(1));
    }
    let mut table = Table::default();
    capture::figures(&mut table);
    decide::figures(&mut table);
    tell::figures(&mut table);
    follow::pages(&mut table);
    follow::texts(&mut table);
    find::figures(&mut table);
    table.print();
}

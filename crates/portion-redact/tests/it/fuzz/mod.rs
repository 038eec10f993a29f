//! The check of the fuzz target of this crate, run on its seeds.

mod redaction;
#[path = "../../../../../fuzz/seeds.rs"]
mod seeds;

#[test]
fn seeds_of_redaction() {
    seeds::run("redaction", redaction::check);
}

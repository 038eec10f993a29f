//! The check of the fuzz target of this crate, run on its seeds.

mod query;
#[path = "../../../../../fuzz/seeds.rs"]
mod seeds;

#[test]
fn seeds_of_queries() {
    seeds::run("query", query::check);
}

//! The checks of the fuzz targets of this crate, run on their seeds.

mod chunkers;
mod documents;
mod encodings;
#[path = "../../../../../fuzz/seeds.rs"]
mod seeds;

#[test]
fn seeds_of_chunkers() {
    seeds::run("chunkers", chunkers::check);
}

#[test]
fn seeds_of_documents() {
    seeds::run("documents", documents::check);
}

#[test]
fn seeds_of_encodings() {
    seeds::run("encodings", encodings::check);
}

//! The checks of the fuzz targets of this crate, run on their seeds.

mod scanner;
#[path = "../../../../../fuzz/seeds.rs"]
mod seeds;

#[test]
fn seeds_of_the_scanner() {
    seeds::run("scanner", scanner::check);
}

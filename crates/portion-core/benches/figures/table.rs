//! The table that is printed.

use std::fmt::Write as _;

/// Rows of what, target and measured.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<[String; 3]>,
}

impl Table {
    /// Adds a figure; an empty target where none is promised.
    pub(crate) fn add(&mut self, what: &str, target: &str, measured: String) {
        self.rows.push([what.to_owned(), target.to_owned(), measured]);
    }

    /// Prints it.
    #[expect(clippy::print_stdout, reason = "the table is what this program is for")]
    pub(crate) fn print(&self) {
        let mut text = format!("{:<52} {:>10}  {:>14}\n", "figure", "target", "measured");
        for [what, target, measured] in &self.rows {
            let _ = writeln!(text, "{what:<52} {target:>10}  {measured:>14}");
        }
        print!("{text}");
    }
}

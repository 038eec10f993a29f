//! Tallies as rows of the file.

use rusqlite::types::ToSqlOutput;
use rusqlite::{Result, Row, Statement, ToSql, params};

use super::{Grain, Tally};

/// How the number of requests of each outcome is written: `paginated 5 untouched 12`.
struct Outcomes<'a>(&'a Tally);

impl Tally {
    /// What [`Tally::take`] reads, in its order.
    pub(crate) const COLUMNS: &str = "requests, follow_ups, errors, outcomes, sized, oversized,
        original_tokens, served_tokens, sampled, near, far, deviation, latency, overhead";

    /// Puts what is in a roll-up so far; takes what [`Tally::put`] binds.
    pub(crate) const PUT: &str = "INSERT OR REPLACE INTO rollups
        (grain, at, endpoint, requests, follow_ups, errors, outcomes, sized, oversized,
        original_tokens, served_tokens, sampled, near, far, deviation, latency, overhead)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

    /// Adds what a roll-up says, from that column on.
    pub(crate) fn take(&mut self, row: &Row<'_>, from: usize) -> Result<()> {
        let figures = &mut self.figures;
        let add = |sum: &mut u64, column| -> Result<()> {
            let more: i64 = row.get(from + column)?;
            *sum = sum.saturating_add(u64::try_from(more).unwrap_or_default());
            Ok(())
        };
        add(&mut figures.requests, 0)?;
        add(&mut figures.follow_ups, 1)?;
        add(&mut figures.errors, 2)?;
        add(&mut figures.sized, 4)?;
        add(&mut figures.oversized, 5)?;
        add(&mut figures.original_tokens, 6)?;
        add(&mut figures.served_tokens, 7)?;
        add(&mut figures.accuracy.sampled, 8)?;
        add(&mut figures.accuracy.near, 9)?;
        add(&mut figures.accuracy.far, 10)?;
        figures.accuracy.errors += row.get::<_, f64>(from + 11)?;
        let mut words = row.get_ref(from + 3)?.as_str().unwrap_or_default().split(' ');
        while let Some((outcome, count)) = words.next().zip(words.next()) {
            self.count(outcome, count.parse().unwrap_or_default());
        }
        self.latency.take(row.get_ref(from + 12)?.as_blob().unwrap_or_default());
        self.overhead.take(row.get_ref(from + 13)?.as_blob().unwrap_or_default());
        Ok(())
    }

    /// Writes it down, by a statement that [`Tally::PUT`] is.
    pub(crate) fn put(
        &self,
        statement: &mut Statement<'_>,
        grain: Grain,
        at: i64,
        endpoint: i64,
    ) -> Result<()> {
        let (figures, stored) = (&self.figures, |number: u64| i64::try_from(number).unwrap_or(i64::MAX));
        statement.execute(params![
            grain.code(),
            at,
            endpoint,
            stored(figures.requests),
            stored(figures.follow_ups),
            stored(figures.errors),
            Outcomes(self),
            stored(figures.sized),
            stored(figures.oversized),
            stored(figures.original_tokens),
            stored(figures.served_tokens),
            stored(figures.accuracy.sampled),
            stored(figures.accuracy.near),
            stored(figures.accuracy.far),
            figures.accuracy.errors,
            self.latency.encode(),
            self.overhead.encode(),
        ])?;
        Ok(())
    }
}

impl ToSql for Outcomes<'_> {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        let outcomes = &self.0.figures.outcomes;
        let words: Vec<String> =
            outcomes.iter().map(|(outcome, count)| format!("{outcome} {count}")).collect();
        Ok(words.join(" ").into())
    }
}

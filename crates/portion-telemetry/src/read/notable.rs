//! Finds the requests behind a conspicuous figure.

use rusqlite::params_from_iter;

use super::{Filter, ReadError, Reader, Record};
use crate::record::count;

/// Condition that makes a request notable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notable {
    /// The reply is an error, from Portion or from the upstream.
    Errors,
    /// A first call whose payload exceeded the budget in force then.
    Oversized,
}

impl Notable {
    /// All conditions.
    pub const ALL: [Self; 2] = [Self::Errors, Self::Oversized];

    /// Returns the name of the condition.
    pub fn name(self) -> &'static str {
        match self {
            Self::Errors => "errors",
            Self::Oversized => "oversized",
        }
    }

    /// Returns the condition of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|notable| notable.name() == name)
    }

    fn condition(self) -> &'static str {
        match self {
            Self::Errors => "error IS NOT NULL",
            // The same rule as in the statistics: an uncounted payload is taken as four bytes per token; the default
            // budget is 4,000.
            Self::Oversized => {
                "NOT follow_up AND coalesce(original_tokens, CASE WHEN outcome IN ('untouched', 'unshaped')
                 THEN coalesce(estimated_tokens, response_bytes / 4) END) > coalesce(budget, 4000)"
            }
        }
    }
}

impl Reader {
    /// Returns the matching records that are notable, the newest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn notable(&self, filter: &Filter, notable: Notable) -> Result<Vec<Record>, ReadError> {
        let (clause, values) = filter.clause(notable.condition());
        let limit = filter.sql_limit();
        let mut records = Vec::new();
        let which = format!("{clause} ORDER BY at DESC, requests.id DESC LIMIT {limit}");
        self.select(&which, values, |record| records.push(record))?;
        Ok(records)
    }

    /// Counts the newest matching records up to [`Filter::limit`], and the notable ones among them.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn count_notable(&self, filter: &Filter, notable: Notable) -> Result<(u64, u64), ReadError> {
        let (clause, values) = filter.clause("");
        let (limit, condition) = (filter.sql_limit(), notable.condition());
        let newest =
            format!("SELECT {condition} AS notable FROM requests {clause} ORDER BY at DESC LIMIT {limit}");
        let sql = format!("SELECT count(*), coalesce(sum(notable), 0) FROM ({newest})");
        Ok(self
            .connection
            .query_row(&sql, params_from_iter(values), |row| Ok((count(row, 0)?, count(row, 1)?)))?)
    }
}

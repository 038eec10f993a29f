//! The requests behind a figure that stands out.

use rusqlite::params_from_iter;

use super::{Filter, ReadError, Reader, Record, count};

/// Which requests stand out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    /// Those that were answered by an error, ours or the upstream's.
    Errors,
    /// First calls whose payload was above what a reply could cost then.
    Oversized,
}

impl Noted {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Errors, Self::Oversized];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Errors => "errors",
            Self::Oversized => "oversized",
        }
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|noted| noted.name() == name)
    }

    fn condition(self) -> &'static str {
        match self {
            Self::Errors => "error IS NOT NULL",
            // As figures have it: what passed uncounted is taken for four bytes a token, 4,000 is the usual budget.
            Self::Oversized => {
                "NOT follow_up AND coalesce(original_tokens, CASE WHEN outcome IN ('untouched', 'unshaped')
                 THEN coalesce(estimated_tokens, response_bytes / 4) END) > coalesce(budget, 4000)"
            }
        }
    }
}

impl Reader {
    /// The records that pass and stand out so, the newest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn noted(&self, filter: &Filter, noted: Noted) -> Result<Vec<Record>, ReadError> {
        let (clause, values) = filter.clause(noted.condition());
        let limit = filter.sql_limit();
        let mut records = Vec::new();
        let which = format!("{clause} ORDER BY at DESC, requests.id DESC LIMIT {limit}");
        self.select(&which, values, |record| records.push(record))?;
        Ok(records)
    }

    /// How many of the newest records that pass there are, up to [`Filter::limit`], and how many of these stand out so.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn noted_of(&self, filter: &Filter, noted: Noted) -> Result<(u64, u64), ReadError> {
        let (clause, values) = filter.clause("");
        let (limit, condition) = (filter.sql_limit(), noted.condition());
        let newest =
            format!("SELECT {condition} AS noted FROM requests {clause} ORDER BY at DESC LIMIT {limit}");
        let sql = format!("SELECT count(*), coalesce(sum(noted), 0) FROM ({newest})");
        Ok(self
            .connection
            .query_row(&sql, params_from_iter(values), |row| Ok((count(row, 0)?, count(row, 1)?)))?)
    }
}

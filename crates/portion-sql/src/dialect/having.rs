//! Reads the first comparison of a HAVING clause, to say what values the groups have.

use super::edits::Edits;
use super::where_clause::outside_of_parentheses;

/// The HAVING clause of the outermost SELECT.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HavingClause {
    with: String,
    /// Columns of the SELECT.
    columns: String,
    /// Text from FROM to HAVING.
    from: String,
    /// The compared expression: `count(*)`, or an alias of it.
    pub(crate) compared: String,
}

impl HavingClause {
    /// Returns statements for the least and the greatest value of the compared expression. The first is valid if that is a
    /// column of the result.
    pub(crate) fn extents(&self) -> [String; 2] {
        let Self { with, columns, from, compared } = self;
        [
            format!("{with}SELECT min({compared}), max({compared}) FROM (SELECT {columns} {from})"),
            format!("{with}SELECT min(compared), max(compared) FROM (SELECT {compared} AS compared {from})"),
        ]
    }
}

/// Reads the HAVING clause of the outermost SELECT; `None` if there is none that begins with a comparison.
pub(crate) fn parse(sql: &str) -> Option<HavingClause> {
    let edits = Edits::new(sql);
    let outside = outside_of_parentheses(&edits);
    if outside.iter().any(|at| edits.is_word_of(*at, "union intersect except")) {
        return None;
    }
    let find = |word: &str| outside.iter().copied().find(|at| edits.is_word(*at, word));
    let (select, from, having) = (find("select")?, find("from")?, find("having")?);
    let end = edits.operand_end(having + 1).filter(|_| select < from && from < having)?;
    let is_comparison = ["<", ">", "<=", ">=", "="].iter().any(|sign| edits.is_sign(end + 1, sign))
        || edits.is_word(end + 1, "between");
    is_comparison.then(|| HavingClause {
        with: edits.text_between(0, select).to_owned(),
        columns: edits.text_between(select + 1, from).trim().to_owned(),
        from: edits.text_between(from, having).trim().to_owned(),
        compared: edits.text_between(having + 1, end + 1).trim().to_owned(),
    })
}

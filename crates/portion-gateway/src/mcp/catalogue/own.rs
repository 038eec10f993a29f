//! Our own tools, and the names that they get among the upstream's.

use std::sync::Arc;

use super::listing::{Listing, Style};

/// One of our own tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Own {
    /// Reads on in a shortened result.
    Read,
    /// Answers questions about one.
    Query,
    /// Shows tools in full.
    Describe,
}

/// Whose tool a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Whose {
    Ours(Own),
    Theirs,
    /// That cannot be told before all tools are known.
    Unclear,
}

/// The names that our own tools shall have, and those that they have.
#[derive(Debug)]
pub(super) struct Names {
    wished: Vec<Named>,
    /// Known once all of the upstream's are.
    given: Option<Vec<Named>>,
}

type Named = (Own, Arc<str>);

impl Names {
    pub(super) fn new(listing: &Listing) -> Self {
        let mut wished = vec![(Own::Read, listing.read_tool.as_str().into())];
        wished.extend(listing.query_tool.as_deref().map(|name| (Own::Query, name.into())));
        if listing.style == Style::Lazy {
            wished.push((Own::Describe, listing.describe_tool.as_str().into()));
        }
        Self { wished, given: None }
    }

    /// Names them all, none like a tool that `is_taken`.
    pub(super) fn give(&mut self, is_taken: impl Fn(&str) -> bool) -> &[Named] {
        let mut given: Vec<Named> = Vec::new();
        for (own, wished) in &self.wished {
            let names = std::iter::once(wished.to_string()).chain((2..).map(|n| format!("{wished}_{n}")));
            let is_free = |name: &String| !is_taken(name) && given.iter().all(|(_, other)| **other != **name);
            let name = names.into_iter().find(is_free).unwrap_or_else(|| wished.to_string());
            given.push((*own, name.into()));
        }
        self.given.insert(given)
    }

    /// Names those that need no tools besides: where an upstream has none, there is nothing to describe.
    pub(super) fn give_without_tools(&mut self) -> &[Named] {
        self.give(|_| false);
        let given = self.given.get_or_insert_default();
        given.retain(|(own, _)| *own != Own::Describe);
        given
    }

    pub(super) fn forget(&mut self) {
        self.given = None;
    }

    pub(super) fn are_given(&self) -> bool {
        self.given.is_some()
    }

    /// The name of the one that reads on, as far as it is known.
    pub(super) fn read_tool(&self) -> Arc<str> {
        let (_, name) = &self.given.as_ref().unwrap_or(&self.wished)[0];
        Arc::clone(name)
    }

    /// The name of the one that answers questions, where there is one.
    pub(super) fn query_tool(&self) -> Option<Arc<str>> {
        let named = self.given.as_ref().unwrap_or(&self.wished);
        named.iter().find(|(own, _)| *own == Own::Query).map(|(_, name)| Arc::clone(name))
    }

    pub(super) fn whose(&self, name: &str) -> Whose {
        match &self.given {
            Some(given) => {
                let ours = given.iter().find(|(_, ours)| **ours == *name);
                ours.map_or(Whose::Theirs, |(own, _)| Whose::Ours(*own))
            }
            None if self.wished.iter().any(|(_, wished)| is_like(name, wished)) => Whose::Unclear,
            None => Whose::Theirs,
        }
    }
}

/// Whether the name may turn out to be given where another is wished.
fn is_like(name: &str, wished: &str) -> bool {
    name.strip_prefix(wished).is_some_and(|number| {
        let digits = number.strip_prefix('_');
        number.is_empty() || digits.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use super::{Listing, Names, Own, Style, Whose};

    #[test]
    fn no_two_tools_have_one_name() {
        let check = |read: &str, describe: &str, taken: &[&str], expect: [&str; 2]| {
            let style = Style::Lazy;
            let (read_tool, describe_tool) = (read.into(), describe.into());
            let listing = Listing { style, read_tool, query_tool: None, describe_tool, ..Listing::default() };
            let mut names = Names::new(&listing);
            assert_eq!([names.whose(read), names.whose(describe)], [Whose::Unclear; 2]);
            let given = names.give(|name| taken.contains(&name)).to_vec();
            assert_eq!(given, [(Own::Read, expect[0].into()), (Own::Describe, expect[1].into())]);
            assert_eq!(
                expect.map(|name| names.whose(name)),
                [Whose::Ours(Own::Read), Whose::Ours(Own::Describe)]
            );
            assert_eq!(&*names.read_tool(), expect[0]);
        };
        check("read", "describe", &[], ["read", "describe"]);
        check("read", "describe", &["describe", "describe_2"], ["read", "describe_3"]);
        check("same", "same", &[], ["same", "same_2"]);
        check("same", "same", &["same_2"], ["same", "same_3"]);
    }

    #[test]
    fn what_is_not_listed_is_not_ours() {
        let mut full = Names::new(&Listing::default());
        assert_eq!(full.whose("portion_describe"), Whose::Theirs);
        assert_eq!(full.whose("portion_read_7"), Whose::Unclear);
        assert_eq!(full.whose("portion_reader"), Whose::Theirs);
        full.give(|_| false);
        assert_eq!(full.whose("portion_read_7"), Whose::Theirs);
        let mut toolless = Names::new(&Listing { style: Style::Lazy, ..Listing::default() });
        toolless.give_without_tools();
        assert_eq!(toolless.whose("portion_describe"), Whose::Theirs);
    }
}

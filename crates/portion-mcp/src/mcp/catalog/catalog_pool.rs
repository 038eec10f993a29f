//! Facts about a server, from its responses. Equal catalogs are shared between its sessions; rules that match none of its
//! tools are reported.
//!
//! Most sessions know the same tools, and a catalog of a hundred tools takes tens of kilobytes.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use portion_text::names::matches_pattern;

use super::ToolCatalog;

/// Largest number of different catalogs that are shared. They differ if the server lists other tools to other callers.
const MAX_CATALOGS: usize = 32;

/// The catalogs that the sessions of a server share.
#[derive(Debug, Default)]
pub(in super::super) struct CatalogPool {
    catalogs: Mutex<Vec<Weak<ToolCatalog>>>,
    rules: Mutex<RuleCheck>,
}

/// Rules for the tools, and whether they were compared with the tools.
#[derive(Debug, Default)]
struct RuleCheck {
    patterns: Vec<String>,
    is_done: bool,
}

impl CatalogPool {
    /// Creates a pool for a server with these rules.
    pub(in super::super) fn new(patterns: Vec<String>) -> Self {
        Self { rules: Mutex::new(RuleCheck { patterns, is_done: false }), ..Self::default() }
    }

    /// Replaces the rules. If the tools are known, the rules that match none are logged at once.
    pub(in super::super) fn set_rule_patterns(&self, patterns: Vec<String>) {
        {
            let mut rules = self.rules.lock();
            if rules.patterns == patterns {
                return;
            }
            *rules = RuleCheck { patterns, is_done: false };
        }
        let known: Vec<Arc<ToolCatalog>> = {
            let known = self.catalogs.lock();
            known.iter().filter_map(Weak::upgrade).collect()
        };
        known.iter().for_each(|catalog| self.check_rules(catalog));
    }

    /// Replaces a catalog by an equal one of another session, if there is one. Otherwise later sessions share this one.
    pub(in super::super) fn share(&self, catalog: &mut Arc<ToolCatalog>) {
        self.check_rules(catalog);
        let mut known = self.catalogs.lock();
        known.retain(|other| other.strong_count() > 0);
        if let Some(equal) = known.iter().filter_map(Weak::upgrade).find(|other| other == catalog) {
            *catalog = equal;
            return;
        }
        if known.len() >= MAX_CATALOGS {
            known.remove(0);
        }
        known.push(Arc::downgrade(catalog));
    }

    /// Logs the rules that match no tool, once, as soon as the tools are known.
    fn check_rules(&self, catalog: &ToolCatalog) {
        let unmatched: Vec<String> = {
            let mut rules = self.rules.lock();
            if !catalog.is_complete()
                || catalog.tools.is_empty()
                || std::mem::replace(&mut rules.is_done, true)
            {
                return;
            }
            rules.unmatched(catalog).map(str::to_owned).collect()
        };
        if !unmatched.is_empty() {
            tracing::warn!(
                patterns = unmatched.join(", "),
                "rules under endpoints match no tool of the server; correct their names, unless they are for prompts"
            );
        }
    }
}

impl RuleCheck {
    fn unmatched(&self, catalog: &ToolCatalog) -> impl Iterator<Item = &str> {
        let is_unmatched = |pattern: &&str| !catalog.tools.keys().any(|name| matches_pattern(pattern, name));
        self.patterns.iter().map(String::as_str).filter(is_unmatched)
    }
}

/// Facts about a server, from its responses.
pub(crate) struct ServerInfo {
    /// Shared with sessions that know the same tools; [`edit_catalog`](Self::edit_catalog) changes it.
    pub catalog: Arc<ToolCatalog>,
    pub catalog_pool: Arc<CatalogPool>,
    /// True if the server has no tools capability: then `tools/list` is answered without it.
    pub has_no_tools: bool,
}

impl ServerInfo {
    /// Creates the facts of a session, whose catalog is shared with equal ones.
    pub(crate) fn new(catalog: ToolCatalog, catalog_pool: &Arc<CatalogPool>) -> Self {
        let mut catalog = Arc::new(catalog);
        catalog_pool.share(&mut catalog);
        Self { catalog, catalog_pool: Arc::clone(catalog_pool), has_no_tools: false }
    }

    /// Changes the catalog of this session only.
    pub(crate) fn edit_catalog<T>(&mut self, edit: impl FnOnce(&mut ToolCatalog) -> T) -> T {
        let outcome = edit(Arc::make_mut(&mut self.catalog));
        if self.catalog.is_complete() {
            self.catalog_pool.share(&mut self.catalog);
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use portion_policy::endpoint::ListingOptions;

    use super::super::super::walk::{self, Splice};
    use super::super::{ToolCatalog, ToolListingPolicy};
    use super::{CatalogPool, MAX_CATALOGS};

    /// Returns the catalog of a session to which these tools are listed.
    fn listed(pool: &CatalogPool, names: &[&str]) -> Arc<ToolCatalog> {
        let mut catalog = ToolCatalog::new(&ListingOptions::default());
        let tool = |name: &&str| {
            format!(
                r#"{{"name":"list_{name}","inputSchema":{{"type":"object","properties":{{"{name}":{{}}}}}}}}"#
            )
        };
        let text = format!(r#"{{"tools":[{}]}}"#, names.iter().map(tool).collect::<Vec<_>>().join(", "));
        let (mut splice, span) = (Splice::new(&text), walk::document_span(&text));
        catalog.add_page(&mut splice, &text, span, &|_| ToolListingPolicy::default());
        catalog.complete();
        let mut catalog = Arc::new(catalog);
        pool.share(&mut catalog);
        catalog
    }

    #[test]
    fn sessions_with_the_same_tools_share_a_catalog() {
        let pool = CatalogPool::default();
        let (first, other) = (listed(&pool, &["a", "b"]), listed(&pool, &["a", "c"]));
        assert!(!Arc::ptr_eq(&first, &other));
        assert!(other.tool("list_b").is_none() && other.tool("list_c").is_some());
        assert!(Arc::ptr_eq(&first, &listed(&pool, &["a", "b"])));
        assert!(Arc::ptr_eq(&first, &listed(&pool, &["b", "a"])), "the order says nothing about a tool");
        drop(first);
        let _ = listed(&pool, &["a"]);
        assert_eq!(pool.catalogs.lock().len(), 2, "a catalog without a session is forgotten");
    }

    #[test]
    fn rules_that_match_no_tool_are_found() {
        let pool = CatalogPool::new(["list_a", "list_*", "lst_a", "get_*"].map(str::to_owned).to_vec());
        let catalog = listed(&pool, &["a", "b"]);
        assert_eq!(pool.rules.lock().unmatched(&catalog).collect::<Vec<_>>(), ["lst_a", "get_*"]);
        assert!(pool.rules.lock().is_done);
        pool.set_rule_patterns(vec!["lst_b".to_owned()]);
        assert!(pool.rules.lock().is_done, "the tools are known");
        drop(catalog);
        pool.set_rule_patterns(vec!["lst_c".to_owned()]);
        assert!(!pool.rules.lock().is_done, "no tools are known");
    }

    #[test]
    fn the_number_of_catalogs_is_limited() {
        let pool = CatalogPool::default();
        let names: Vec<String> = (0..=MAX_CATALOGS).map(|n| format!("t{n}")).collect();
        let held: Vec<_> = names.iter().map(|name| listed(&pool, &[name])).collect();
        assert_eq!(pool.catalogs.lock().len(), MAX_CATALOGS);
        assert!(!Arc::ptr_eq(&held[0], &listed(&pool, &[&names[0]])));
    }
}

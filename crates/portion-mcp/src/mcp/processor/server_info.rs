//! Facts about a server, from its responses.

use std::sync::Arc;

use super::super::catalog::{CatalogPool, ToolCatalog};

/// Facts about a server, from its responses.
pub(super) struct ServerInfo {
    /// Shared with sessions that know the same tools; [`edit_catalog`](Self::edit_catalog) changes it.
    pub catalog: Arc<ToolCatalog>,
    pub catalog_pool: Arc<CatalogPool>,
    /// True if the server has no tools capability: then `tools/list` is answered without it.
    pub has_no_tools: bool,
}

impl ServerInfo {
    /// Creates the facts of a session, whose catalog is shared with equal ones.
    pub(super) fn new(catalog: ToolCatalog, catalog_pool: &Arc<CatalogPool>) -> Self {
        let mut catalog = Arc::new(catalog);
        catalog_pool.share(&mut catalog);
        Self { catalog, catalog_pool: Arc::clone(catalog_pool), has_no_tools: false }
    }

    /// Changes the catalog of this session only.
    pub(super) fn edit_catalog<T>(&mut self, edit: impl FnOnce(&mut ToolCatalog) -> T) -> T {
        let outcome = edit(Arc::make_mut(&mut self.catalog));
        if self.catalog.is_complete() {
            self.catalog_pool.share(&mut self.catalog);
        }
        outcome
    }
}

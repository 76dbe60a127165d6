//! The query of a request. One that cannot be read is answered with an error of the API, as everything else is.

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::problem::Problem;

/// A query with these fields.
pub(crate) struct ApiQuery<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for ApiQuery<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let read = Query::try_from_uri(&parts.uri).map_err(|error| Problem::invalid("query", error))?;
        Ok(Self(read.0))
    }
}

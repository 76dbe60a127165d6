//! The checks before a handler: names of host and origin, who calls, and whether its role is enough. Every answer gets
//! its security headers here.
//!
//! | the request has | what counts |
//! |---|---|
//! | a foreign host, or a foreign or `null` origin | nothing: refused |
//! | a bearer token | the token |
//! | a cookie and a listed origin | the cookie; for a changing method `X-Qd: 1` as well |
//! | a cookie, no origin, and `Sec-Fetch-Site: same-origin` | the cookie, for reading only |
//! | a cookie, no origin | nothing |

use axum::body::Body;
use axum::extract::{FromRequestParts, RawPathParams, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use http_server::HttpPeer;
use proto::Role;

use crate::gateway::{Gateway, Shared};
use crate::identity::{AccessIdentity, IdentityKind};
use crate::problem::Problem;
use crate::routes::{Access, Route};
use crate::{link, secrets, socket, step_up};

/// The header that a page sends with every request. No other site's page can: it would have to be asked for first.
const OWN_HEADER: &str = "x-qd";

/// How long a browser remembers to come over HTTPS: 180 days.
const STRICT: &str = "max-age=15552000";

/// The nonce of a response's styles.
#[derive(Clone, Debug)]
pub(crate) struct Nonce(pub(crate) String);

/// Checks the names of a request and adds the security headers to its answer. It is around everything, the answer for
/// an unknown path included.
pub(crate) async fn guard(State(gateway): State<Shared>, mut request: Request, next: Next) -> Response {
    gateway.metrics.count_request();
    let nonce = match secrets::nonce() {
        Ok(nonce) => nonce,
        Err(error) => return Problem::internal(error).into_response(),
    };
    request.extensions_mut().insert(Nonce(nonce.clone()));
    let is_strict = is_strict(&gateway, request.headers());
    let mut response = match gateway.names.check(request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(why) => {
            tracing::debug!(method = %request.method(), why, "a request is refused: its Host or Origin is not allowed");
            gateway.metrics.count_refusal();
            Problem::denied(why).into_response()
        }
    };
    add_headers(response.headers_mut(), &nonce);
    if is_strict {
        response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(STRICT));
    }
    response
}

/// Returns true if the answer asks the browser to come over HTTPS from now on.
fn is_strict(gateway: &Gateway, headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    host.is_some() && host == gateway.strict_host.as_deref()
}

/// Adds the security headers to an answer; `nonce` is that of its styles.
pub(crate) fn add_headers(headers: &mut HeaderMap, nonce: &str) {
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' blob:; connect-src 'self'; \
         font-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'self'; form-action 'self'; \
         frame-ancestors 'none'; require-trusted-types-for 'script'"
    );
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    const FIXED: &[(&str, &str)] = &[
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
    ];
    for (name, value) in FIXED {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

/// Lets a request to a route pass if its caller may.
pub(crate) async fn authorize(
    route: &'static Route,
    State(gateway): State<Shared>,
    request: Request,
    next: Next,
) -> Response {
    let needed = match route.access {
        Access::Public | Access::Socket => return next.run(request).await,
        Access::SignIn => {
            return match is_page_change(request.headers()) {
                true => next.run(request).await,
                false => refuse(&gateway, Problem::denied(PAGE_ONLY)),
            };
        }
        Access::Role(role) => role,
        Access::Confirmed => Role::Admin,
        // The daemon refuses the tools that are beyond the token's role.
        Access::Bearer => Role::View,
    };
    let caller = caller(&gateway, request.method(), request.headers());
    let who = caller.as_ref().map_or("nobody", |identity| identity.id.as_str()).to_owned();
    let response = match caller {
        Ok(identity) => match check(&gateway, route.access, needed, &identity) {
            Ok(()) => serve(route, gateway, identity, request, next).await,
            Err(problem) => refuse(&gateway, problem),
        },
        Err(problem) => refuse(&gateway, problem),
    };
    // The table's own path: what a caller has put into a path or behind it may be anything.
    tracing::debug!(route = ?route, who, status = response.status().as_u16(), "answered");
    response
}

/// Answers a request of a known caller; a link gets nothing beside its target, and what lasts needs a confirmation.
async fn serve(
    route: &'static Route,
    gateway: Shared,
    caller: AccessIdentity,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let checked = match RawPathParams::from_request_parts(&mut parts, &gateway).await {
        Ok(named) => match link::check_route(&gateway, &caller, route.path, &named).await {
            Ok(()) => step_up::check_route(&gateway, &caller, route.path, &named).await,
            refused => refused,
        },
        Err(error) => Err(Problem::invalid("path", error)),
    };
    if let Err(problem) = checked {
        return refuse(&gateway, problem);
    }
    if let Some(peer) = parts.extensions.get::<HttpPeer>() {
        peer.know();
    }
    parts.extensions.insert(caller);
    next.run(Request::from_parts(parts, body)).await
}

/// Ends a request, and a stream of events that it began, when its caller is revoked.
pub(crate) async fn until_revoked(State(gateway): State<Shared>, request: Request, next: Next) -> Response {
    let Some(caller) = request.extensions().get::<AccessIdentity>().cloned() else {
        return next.run(request).await;
    };
    let response = tokio::select! {
        biased;
        response = next.run(request) => response,
        () = socket::revoked(gateway.clone(), caller.clone()) => {
            return refuse(&gateway, Problem::unauthorized());
        }
    };
    let (parts, body) = response.into_parts();
    let kind = parts.headers.get(header::CONTENT_TYPE);
    if !kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
        return Response::from_parts(parts, body);
    }
    let events = body.into_data_stream().take_until(Box::pin(socket::revoked(gateway, caller)));
    Response::from_parts(parts, Body::from_stream(events))
}

const PAGE_ONLY: &str =
    "only this server's own page may do this: the request needs its Origin and the header X-Qd: 1";

fn refuse(gateway: &Gateway, problem: Problem) -> Response {
    gateway.metrics.count_refusal();
    problem.into_response()
}

fn check(gateway: &Gateway, access: Access, needed: Role, identity: &AccessIdentity) -> Result<(), Problem> {
    identity.check_role(needed)?;
    match access {
        Access::Confirmed => check_confirmed(gateway, identity),
        Access::Bearer if identity.kind != IdentityKind::Token => {
            Err(Problem::denied("this needs a bearer token"))
        }
        _ => Ok(()),
    }
}

/// Refuses a caller that no person at the machine has confirmed lately.
pub(crate) fn check_confirmed(gateway: &Gateway, identity: &AccessIdentity) -> Result<(), Problem> {
    if identity.kind != IdentityKind::Device {
        return Err(Problem::denied("only a paired device may do this"));
    }
    if gateway.confirmations.is_confirmed(&identity.id) {
        return Ok(());
    }
    let problem = Problem::denied("a person at the machine must confirm this");
    Err(problem.hint("`qd pair --confirm` shows a code; POST it to /api/v1/step-up"))
}

/// Returns who calls.
pub(crate) fn caller(
    gateway: &Gateway,
    method: &Method,
    headers: &HeaderMap,
) -> Result<AccessIdentity, Problem> {
    if headers.contains_key(header::AUTHORIZATION) {
        return bearer(gateway, headers);
    }
    let Some(secret) = gateway.cookie.find(headers) else { return Err(Problem::unauthorized()) };
    let counts = if method.is_safe() { is_page_read(headers) } else { is_page_change(headers) };
    if !counts {
        return Err(Problem::denied(PAGE_ONLY));
    }
    identity_of(gateway, secret, &[IdentityKind::Device, IdentityKind::Link])
}

/// Returns who calls with a bearer token.
pub(crate) fn bearer(gateway: &Gateway, headers: &HeaderMap) -> Result<AccessIdentity, Problem> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return Err(Problem::unauthorized()) };
    let text = value.to_str().unwrap_or_default();
    let shown = text.strip_prefix("Bearer ").or_else(|| text.strip_prefix("bearer "));
    identity_of(gateway, shown.unwrap_or_default(), &[IdentityKind::Token])
}

/// Returns the identity with this secret, if it is one of these kinds.
pub(crate) fn identity_of(
    gateway: &Gateway,
    secret: &str,
    kinds: &[IdentityKind],
) -> Result<AccessIdentity, Problem> {
    let found = gateway.access.find(secret).map_err(Problem::internal)?;
    found.filter(|identity| kinds.contains(&identity.kind)).ok_or_else(Problem::unauthorized)
}

/// Returns true if our own page sent this. `guard` has checked that an origin, where there is one, is ours.
fn is_page_read(headers: &HeaderMap) -> bool {
    let is_same = headers.get("sec-fetch-site").is_some_and(|site| site == "same-origin");
    headers.contains_key(header::ORIGIN) || is_same
}

fn is_page_change(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN) && headers.get(OWN_HEADER).is_some_and(|value| value == "1")
}

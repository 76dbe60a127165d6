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

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_server::HttpPeer;

use crate::gateway::{Gateway, Shared};
use crate::identity::{AccessIdentity, AccessRole, IdentityKind};
use crate::problem::Problem;
use crate::routes::Access;
use crate::secrets;

/// The header that a page sends with every request. No other site's page can: it would have to be asked for first.
const OWN_HEADER: &str = "x-qd";

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
    let mut response = match gateway.names.check(request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(why) => {
            gateway.metrics.count_refusal();
            Problem::denied(why).into_response()
        }
    };
    add_headers(response.headers_mut(), &nonce);
    response
}

fn add_headers(headers: &mut HeaderMap, nonce: &str) {
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

/// Lets a request to a route with this access pass if its caller may.
pub(crate) async fn authorize(
    access: Access,
    State(gateway): State<Shared>,
    mut request: Request,
    next: Next,
) -> Response {
    let needed = match access {
        Access::Public | Access::Socket => return next.run(request).await,
        Access::SignIn => {
            return match is_page_change(request.headers()) {
                true => next.run(request).await,
                false => refuse(&gateway, Problem::denied(PAGE_ONLY)),
            };
        }
        Access::Role(role) => role,
        Access::Confirmed | Access::Bearer => AccessRole::Admin,
    };
    match caller(&gateway, request.method(), request.headers()) {
        Ok(identity) => match check(&gateway, access, needed, &identity) {
            Ok(()) => {
                if let Some(peer) = request.extensions().get::<HttpPeer>() {
                    peer.know();
                }
                request.extensions_mut().insert(identity);
                next.run(request).await
            }
            Err(problem) => refuse(&gateway, problem),
        },
        Err(problem) => refuse(&gateway, problem),
    }
}

const PAGE_ONLY: &str =
    "only this server's own page may do this: the request needs its Origin and the header X-Qd: 1";

fn refuse(gateway: &Gateway, problem: Problem) -> Response {
    gateway.metrics.count_refusal();
    problem.into_response()
}

fn check(
    gateway: &Gateway,
    access: Access,
    needed: AccessRole,
    identity: &AccessIdentity,
) -> Result<(), Problem> {
    if identity.scope.role < needed {
        let message = format!(
            "this needs the role {}; {} has {}",
            needed.word(),
            identity.label,
            identity.scope.role.word()
        );
        return Err(Problem::denied(message));
    }
    match access {
        Access::Confirmed if identity.kind != IdentityKind::Device => {
            Err(Problem::denied("only a paired device may do this"))
        }
        Access::Confirmed if !gateway.confirmations.is_confirmed(&identity.id) => {
            let problem = Problem::denied("a person at the machine must confirm this");
            Err(problem.hint("`qd pair --confirm` shows a code; POST it to /api/v1/step-up"))
        }
        // The tools act for the person who started the server, in every workspace.
        Access::Bearer if identity.kind != IdentityKind::Token || identity.scope.workspace.is_some() => {
            Err(Problem::denied("only a bearer token that is not limited to a workspace counts here"))
        }
        _ => Ok(()),
    }
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
    known(gateway, secret, &[IdentityKind::Device, IdentityKind::Link])
}

/// Returns who calls with a bearer token.
pub(crate) fn bearer(gateway: &Gateway, headers: &HeaderMap) -> Result<AccessIdentity, Problem> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return Err(Problem::unauthorized()) };
    let text = value.to_str().unwrap_or_default();
    let shown = text.strip_prefix("Bearer ").or_else(|| text.strip_prefix("bearer "));
    known(gateway, shown.unwrap_or_default(), &[IdentityKind::Token])
}

/// Returns the identity with this secret, if it is one of these kinds.
pub(crate) fn known(
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

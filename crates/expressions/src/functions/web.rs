//! Addresses: of networks and on the web.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Arguments, Function};
use crate::failure::Failure;
use crate::network::{
    Network, is_global_unicast, is_link_local_multicast, is_link_local_unicast, parse_address,
};
use crate::types::Type;
use crate::url::Url;
use crate::value::Value;

const TEXT: Type = Type::Text;
const IP: Type = Type::Ip;
const CIDR: Type = Type::Network;
const URL: Type = Type::Url;
const QUERY: Type = Type::Map(&Type::Text, &Type::List(&Type::Text));

pub(super) const FUNCTIONS: &[Function] = &[
    Function::global("ip", &[TEXT], IP, |it| {
        parse_address(it.text(0)).map(Value::Ip).ok_or_else(|| it.is_no("IP address"))
    }),
    Function::global("isIP", &[TEXT], Type::Bool, |it| {
        Ok(Value::Bool(parse_address(it.text(0)).is_some()))
    }),
    Function::global("ip.isCanonical", &[TEXT], Type::Bool, |it| {
        let address = parse_address(it.text(0)).ok_or_else(|| it.is_no("IP address"))?;
        Ok(Value::Bool(address.to_string() == it.text(0)))
    }),
    Function::method("family", &[IP], Type::Int, |it| {
        Ok(Value::Int(if it.address(0).is_ipv4() { 4 } else { 6 }))
    }),
    Function::method("isUnspecified", &[IP], Type::Bool, |it| {
        Ok(Value::Bool(it.address(0).is_unspecified()))
    }),
    Function::method("isLoopback", &[IP], Type::Bool, |it| {
        Ok(Value::Bool(it.address(0).is_loopback()))
    }),
    Function::method("isLinkLocalMulticast", &[IP], Type::Bool, |it| {
        Ok(Value::Bool(is_link_local_multicast(it.address(0))))
    }),
    Function::method("isLinkLocalUnicast", &[IP], Type::Bool, |it| {
        Ok(Value::Bool(is_link_local_unicast(it.address(0))))
    }),
    Function::method("isGlobalUnicast", &[IP], Type::Bool, |it| {
        Ok(Value::Bool(is_global_unicast(it.address(0))))
    }),
    Function::global("cidr", &[TEXT], CIDR, |it| network(it, 0).map(Value::Network)),
    Function::global("isCIDR", &[TEXT], Type::Bool, |it| {
        Ok(Value::Bool(Network::parse(it.text(0)).is_some()))
    }),
    Function::method("ip", &[CIDR], IP, |it| Ok(Value::Ip(it.network(0).address))),
    Function::method("prefixLength", &[CIDR], Type::Int, |it| {
        Ok(Value::Int(it.network(0).prefix.into()))
    }),
    Function::method("masked", &[CIDR], CIDR, |it| Ok(Value::Network(it.network(0).masked()))),
    Function::method("containsIP", &[CIDR, IP], Type::Bool, |it| {
        Ok(Value::Bool(it.network(0).contains(it.address(1))))
    }),
    Function::method("containsIP", &[CIDR, TEXT], Type::Bool, |it| {
        let address =
            parse_address(it.text(1)).ok_or_else(|| Failure::is_no(it.text(1), "IP address"))?;
        Ok(Value::Bool(it.network(0).contains(address)))
    }),
    Function::method("containsCIDR", &[CIDR, CIDR], Type::Bool, |it| {
        Ok(Value::Bool(it.network(0).contains_network(it.network(1))))
    }),
    Function::method("containsCIDR", &[CIDR, TEXT], Type::Bool, |it| {
        Ok(Value::Bool(it.network(0).contains_network(network(it, 1)?)))
    }),
    Function::global("url", &[TEXT], URL, |it| {
        let url = url(it)?.map(|url| Value::Url(Arc::new(url)));
        url.ok_or_else(|| it.is_no("URL"))
    }),
    Function::global("isURL", &[TEXT], Type::Bool, |it| Ok(Value::Bool(url(it)?.is_some()))),
    Function::method("getScheme", &[URL], TEXT, |it| new_text(it, &it.url(0)?.scheme)),
    Function::method("getHost", &[URL], TEXT, |it| new_text(it, &it.url(0)?.host)),
    Function::method("getHostname", &[URL], TEXT, |it| new_text(it, it.url(0)?.hostname())),
    Function::method("getPort", &[URL], TEXT, |it| new_text(it, it.url(0)?.port())),
    Function::method("getEscapedPath", &[URL], TEXT, |it| new_text(it, &it.url(0)?.path)),
    Function::method("getQuery", &[URL], QUERY, query),
];

fn network(it: &Arguments<'_, '_>, position: usize) -> Result<Network, Failure> {
    let text = it.text(position);
    Network::parse(text).ok_or_else(|| Failure::is_no(text, "network"))
}

/// Every byte of an address is read several times.
fn url(it: &Arguments<'_, '_>) -> Result<Option<Url>, Failure> {
    it.meter.spend(it.text(0).len())?;
    Ok(Url::parse(it.text(0)))
}

fn new_text<'v>(it: &Arguments<'_, 'v>, part: &str) -> Result<Value<'v>, Failure> {
    it.meter.spend_on(part)?;
    Ok(Value::text(part))
}

fn query<'v>(it: &Arguments<'_, 'v>) -> Result<Value<'v>, Failure> {
    let url = it.url(0)?;
    // The steps count the whole query, because invalid parameters are read too.
    it.meter.spend(url.query_length())?;
    let mut values: BTreeMap<String, Vec<Value<'v>>> = BTreeMap::new();
    for (key, value) in url.parameters() {
        it.meter.spend(1)?;
        values.entry(key).or_default().push(Value::text(value));
    }
    let values =
        values.into_iter().map(|(key, values)| Ok((Value::text(key), Value::list(values)?)));
    Value::map(values.collect::<Result<Vec<_>, Failure>>()?)
}

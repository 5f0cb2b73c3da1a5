import type { Classification } from '../../../schemas/classification.ts'

/**
 * What vendors say an address, a company or an AS is for: MaxMind's `user_type`, the `type` of IPinfo and ipapi.is,
 * IP2Location's usage types. Read in lower case.
 */
const TYPES: ReadonlyMap<string, Classification> = new Map([
  ['business', 'business'],
  ['banking', 'business'],
  ['corporate', 'business'],
  ['enterprise', 'business'],
  ['company', 'business'],
  ['commercial', 'business'],
  ['organization', 'business'],
  ['organisation', 'business'],
  ['nonprofit', 'business'],
  ['non-profit', 'business'],
  ['com', 'business'],
  ['org', 'business'],
  ['education', 'education'],
  ['educational', 'education'],
  ['edu', 'education'],
  ['college', 'education'],
  ['university', 'education'],
  ['school', 'education'],
  ['library', 'education'],
  ['lib', 'education'],
  ['research', 'education'],
  ['government', 'government'],
  ['gov', 'government'],
  ['military', 'government'],
  ['mil', 'government'],
  ['isp', 'isp'],
  ['isp/mob', 'isp'],
  ['mob', 'isp'],
  ['residential', 'isp'],
  ['consumer', 'isp'],
  ['cellular', 'isp'],
  ['mobile', 'isp'],
  ['broadband', 'isp'],
  ['dialup', 'isp'],
  ['satellite', 'isp'],
  ['router', 'isp'],
  // Guests of these, not those who run them.
  ['cafe', 'isp'],
  ['traveler', 'isp'],
  ['consumer_privacy_network', 'isp'],
  ['hosting', 'hosting'],
  ['datacenter', 'hosting'],
  ['data center', 'hosting'],
  ['dch', 'hosting'],
  ['search_engine_spider', 'hosting'],
  ['ses', 'hosting'],
  ['cloud', 'cloud'],
  ['cdn', 'cdn'],
  ['content_delivery_network', 'cdn'],
])

/** The classification that a vendor's type stands for, or undefined for a type that says nothing. */
export function classifyVendorType(type: string): Classification | undefined {
  return TYPES.get(type.trim().toLowerCase())
}

/** What MaxMind's, DB-IP's and IPLocate's connection types say of an address. `Corporate` names no kind of its own. */
export type Connection = 'consumer' | 'fixed-line' | 'corporate'

const CONNECTIONS: ReadonlyMap<string, Connection> = new Map([
  ['cellular', 'consumer'],
  ['mobile', 'consumer'],
  ['satellite', 'consumer'],
  ['dialup', 'consumer'],
  ['dial-up', 'consumer'],
  ['cable/dsl', 'fixed-line'],
  ['cable', 'fixed-line'],
  ['dsl', 'fixed-line'],
  ['corporate', 'corporate'],
])

/** Reads a vendor's connection type, or undefined for one that says nothing. */
export function readConnection(type: string): Connection | undefined {
  return CONNECTIONS.get(type.trim().toLowerCase())
}

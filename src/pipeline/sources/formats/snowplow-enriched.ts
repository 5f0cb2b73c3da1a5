import { visitorInField } from '../../event/client-address.ts'
import { readTime } from '../batch/files/timestamps.ts'
import { parseNested } from '../tools/nested-json.ts'
import { listOf, objectOf, pageOf, sessionIdOf, type ToolEvent, unlessEmpty, without } from '../tools/tool-event.ts'
import { type LineFormat, most } from './line-format.ts'

/** The columns of an enriched event, in their order. */
const COLUMNS = (
  'app_id platform etl_tstamp collector_tstamp dvce_created_tstamp event event_id txn_id name_tracker v_tracker v_collector v_etl ' +
  'user_id user_ipaddress user_fingerprint domain_userid domain_sessionidx network_userid geo_country geo_region geo_city geo_zipcode ' +
  'geo_latitude geo_longitude geo_region_name ip_isp ip_organization ip_domain ip_netspeed page_url page_title page_referrer ' +
  'page_urlscheme page_urlhost page_urlport page_urlpath page_urlquery page_urlfragment refr_urlscheme refr_urlhost refr_urlport ' +
  'refr_urlpath refr_urlquery refr_urlfragment refr_medium refr_source refr_term mkt_medium mkt_source mkt_term mkt_content ' +
  'mkt_campaign contexts se_category se_action se_label se_property se_value unstruct_event tr_orderid tr_affiliation tr_total ' +
  'tr_tax tr_shipping tr_city tr_state tr_country ti_orderid ti_sku ti_name ti_category ti_price ti_quantity pp_xoffset_min ' +
  'pp_xoffset_max pp_yoffset_min pp_yoffset_max useragent br_name br_family br_version br_type br_renderengine br_lang ' +
  'br_features_pdf br_features_flash br_features_java br_features_director br_features_quicktime br_features_realplayer ' +
  'br_features_windowsmedia br_features_gears br_features_silverlight br_cookies br_colordepth br_viewwidth br_viewheight os_name ' +
  'os_family os_manufacturer os_timezone dvce_type dvce_ismobile dvce_screenwidth dvce_screenheight doc_charset doc_width ' +
  'doc_height tr_currency tr_total_base tr_tax_base tr_shipping_base ti_currency ti_price_base base_currency geo_timezone ' +
  'mkt_clickid mkt_network etl_tags dvce_sent_tstamp refr_domain_userid refr_dvce_tstamp derived_contexts domain_sessionid ' +
  'derived_tstamp event_vendor event_name event_format event_version event_fingerprint true_tstamp'
).split(' ')

/** Columns with a place of their own, or parts of others. Snowplow's own facts about the address are left out. */
const PLACED =
  /^(?:event|event_id|platform|user_ipaddress|.*_tstamp|page_url.*|page_referrer|refr_url.*|geo_.*|ip_.*|v_.*|name_tracker|contexts|derived_contexts|unstruct_event|useragent|domain_sessionid|event_vendor|event_name|event_format|event_version|event_fingerprint|user_id|domain_userid|network_userid|etl_tags)$/

const NAMES: Readonly<Record<string, string>> = { page_view: 'page' }

/** Enriched events of Snowplow: 131 columns with tabs between. */
export const snowplowEnriched: LineFormat = {
  name: 'snowplow',
  about: 'Snowplow, enriched events (TSV)',
  recognises: (lines) => most(lines, (line) => line.split('\t').length === COLUMNS.length),
  reader: ({ trusted }) => ({
    header: undefined,
    read(line) {
      const values = line.split('\t')
      if (values.length !== COLUMNS.length) {
        return { rejected: `has ${values.length} columns, and an enriched event ${COLUMNS.length}` }
      }
      const fields = Object.fromEntries(COLUMNS.map((name, i) => [name, values[i] === '' ? undefined : values[i]]))
      const time = readTime(fields.true_tstamp ?? fields.derived_tstamp ?? fields.collector_tstamp ?? '', undefined)
      if ('problem' in time) return { rejected: 'has no readable time' }
      const ip = fields.user_ipaddress && visitorInField(fields.user_ipaddress, trusted)
      return { event: { ...eventOf(fields, time.time), ip } }
    },
  }),
}

function eventOf(fields: Readonly<Record<string, string | undefined>>, timestamp: string): ToolEvent {
  const contexts = [...dataOf(fields.contexts), ...dataOf(fields.derived_contexts)]
  const own = dataOf(fields.unstruct_event).map((event) => objectOf(objectOf(event).data))[0]
  const campaign = Object.fromEntries(
    ['source', 'medium', 'campaign', 'term', 'content'].map((name) => [name, fields[`mkt_${name}`]]),
  )
  const name = fields.event_name ?? fields.event
  return {
    event_id: fields.event_id,
    timestamp,
    event_type: name !== undefined && Object.hasOwn(NAMES, name) ? NAMES[name] : name,
    session_id: sessionIdOf(fields.domain_sessionid),
    platform: fields.platform,
    properties: unlessEmpty({
      ...own,
      ...without(Object.fromEntries(Object.entries(fields).filter(([key]) => !PLACED.test(key)))),
      ...(contexts.length > 0 && { contexts }),
      ...(fields.useragent !== undefined && { user_agent: fields.useragent }),
    }),
    user_properties: unlessEmpty(
      without({ uid: fields.user_id, duid: fields.domain_userid, nuid: fields.network_userid }),
    ),
    page: pageOf(fields.page_url, fields.page_referrer, campaign),
    library: fields.v_tracker,
  }
}

/** The data of self-describing JSON: a list for contexts, one object for an event. */
function dataOf(json: string | undefined): readonly unknown[] {
  return json === undefined ? [] : listOf(objectOf(parseNested(json)).data)
}

import { describe, test } from 'node:test'
import { classify } from '../../../src/enrichment/rules/classify.ts'
import { check } from '../../support/classified.ts'
import { DOUBTFUL_AS } from '../../support/doubtful.ts'

describe('order of strength', () => {
  test('without evidence, or with empty strings, there is no class', () => {
    check([
      [{}, undefined, 'none'],
      [{ asName: '', orgName: '', domain: '', hostname: '', asDomain: '', orgType: '' }, undefined, 'none'],
      [{ asn: 4_200_000_000 }, undefined, 'none'],
    ])
  })

  test('a name without evidence has no class; a named user of an address is a business', () => {
    check([
      [{ asName: 'Acme Widgets GmbH' }, undefined, /^unknown:0\.\d\d$/],
      [{ asName: 'Qorvex' }, undefined, /^unknown:0\.\d\d$/],
      [{ asDomain: 'qorvex.example' }, undefined, 'unknown'],
      [{ orgName: 'Globex', asn: 4_200_000_000 }, 'business', 'name'],
    ])
  })

  test('a name that the model nearly calls noise is doubtful, and has no class', () => {
    const { asn, name: asName } = DOUBTFUL_AS
    check([
      [{ asn, asName }, undefined, /^doubtful:0\.\d\d$/],
      [{ asn, asName, asType: 'business' }, 'business', 'as-type:business'],
      [{ asn, asName, orgName: 'Globex' }, 'business', 'name'],
    ])
  })

  test('when the rules are silent and the model is sure, it decides by name and size of the AS', () => {
    check([
      [{ asName: 'Kibo Railway Telecom Ltd' }, 'isp', 'name-word:telecom'],
      [{ asName: 'Telecom Insurance Kibo' }, 'business', 'name-word:insurance'],
      [{ asName: 'Kibo County Consolidated Communications Agency' }, 'government'],
      [{ asn: 2018, asName: 'TENET (The UNINET Project)' }, 'education'],
      [{ asn: 270_100, asName: 'Kibo Fibranett Eireli', asAddresses: 1024, asHasV6: true }, 'isp'],
      [
        { asn: 269_306, asName: 'J L KIBO INFORMATICA ME', asAddresses: 1024, asHasV6: true },
        'isp',
        /^model:isp:(?:0\.9|1)/,
      ],
      [
        { asn: 26_111, asName: 'Kibo Partners, LP', asAddresses: 256, asHasV6: false },
        'business',
        /^model:business:0\.[01]/,
      ],
      [{ asn: 269_306, asName: 'J L KIBO INFORMATICA ME', asType: 'education' }, 'education', 'as-type:education'],
    ])
  })

  test('the domain of the AS classifies when its name does not', () => {
    check([[{ asName: 'Qorvex', asDomain: 'qorvextelecom.example' }, 'isp', 'name-word:telecom']])
  })

  test('a table wins over everything', () => {
    check([
      [{ explicit: 'business', asn: 16509, isTor: true, orgType: 'hosting' }, 'business', 'table'],
      [{ explicit: 'cdn', explicitSource: 'cdn-fastly', orgType: 'business' }, 'cdn', 'table:cdn-fastly'],
    ])
  })

  test('anonymity wins over the organisation', () => {
    check([
      [{ isTor: true, orgName: 'Acme', orgType: 'business' }, 'vpn', 'flag:tor'],
      [{ isAnonymousVpn: true, asName: 'Acme' }, 'vpn', 'flag:vpn'],
      [{ isProxy: true }, 'vpn', 'flag:proxy'],
      [{ isAnonymous: true }, 'vpn', 'flag:anonymous'],
    ])
  })

  test("a company's own block inside a provider's AS is the company", () => {
    check([
      [{ orgName: 'Acme Widgets GmbH', asn: 3320, asName: 'Deutsche Telekom AG', asType: 'isp' }, 'business'],
      [{ orgName: 'Acme', orgType: 'business', asn: 7922, asName: 'Comcast', connectionType: 'Cable/DSL' }, 'business'],
      [{ orgName: 'Acme', hostname: 'static-1-2-3-4.business.dsl.example.net', asn: 701 }, 'business', 'name'],
      [{ orgName: 'Ripon College', asn: 7018, asName: 'AT&T Services' }, 'education'],
      [{ domain: 'acme.com', asn: 7018, asName: 'AT&T Services' }, 'business', 'domain'],
    ])
  })

  test('the holder of the AS itself does not count as a company in its own block', () => {
    check([
      [{ orgName: 'Comcast Business', orgType: 'business', asn: 7922, asName: 'Comcast Cable' }, 'isp'],
      [{ orgName: 'Verizon Business', orgType: 'business', asn: 64500, asName: 'Elsewhere' }, 'isp'],
      [{ orgName: 'Kibo Networks', orgType: 'business', asName: 'Kibo Networks' }, 'business', 'vendor-type:business'],
      [{ orgType: 'business', asn: 7922, asName: 'Comcast Cable' }, 'isp', 'as-number:7922'],
      [{ domain: 'kibo.example', asDomain: 'kibo.example', asName: 'Kibo Telecom' }, 'isp'],
      [{ orgName: 'Acme Inc', asName: 'ACME-AS Acme Incorporated', asType: 'business' }, 'business'],
    ])
  })

  test('evidence of the address outranks the AS, but names of rented machines do not', () => {
    check([
      [{ hostname: 'lib.smallcollege.edu', asn: 174 }, 'education', 'domain:edu'],
      [{ hostname: 'www.smallcollege.edu', asn: 16509 }, 'cloud', 'as-number:16509'],
      [{ domain: 'acme.com', asn: 24940 }, 'hosting', 'as-number:24940'],
      [{ hostname: 'ec2-1-2-3-4.compute-1.amazonaws.com', asName: 'Acme' }, 'cloud', 'domain:amazonaws.com'],
      [{ connectionType: 'Cellular', asName: 'Acme' }, 'isp', 'connection-type:cellular'],
    ])
  })

  test('a vendor type of the AS outranks words of its name; a known number outranks both', () => {
    check([
      [{ asName: 'Acme Telecom Tools', asType: 'business' }, 'business', 'as-type:business'],
      [{ asName: 'Acme', asType: 'isp' }, 'isp', 'as-type:isp'],
      [{ asn: 16509, asName: 'Whatever', asType: 'hosting' }, 'cloud', 'as-number:16509'],
      [{ asName: 'Cloudflare, Inc.', asType: 'hosting' }, 'cdn'],
      [{ asName: 'State College', asDomain: 'state.edu', asType: 'isp' }, 'education', 'domain:edu'],
    ])
  })

  test('a fixed line decides only when the name of the AS does not', () => {
    check([
      [{ connectionType: 'Cable/DSL', asName: 'Kibo Ventures' }, 'isp', 'connection-type:cable/dsl'],
      [{ connectionType: 'Corporate', asName: 'Qorvex' }, 'business', 'connection-type:corporate'],
      [{ connectionType: 'Corporate', asName: 'Kibo Telecom' }, 'isp'],
      [{ connectionType: 'Cable/DSL', asName: 'Ripon College' }, 'education'],
      [{ connectionType: 'Cable/DSL', asName: 'First Bank' }, 'business'],
    ])
  })
})

describe('vendor types', () => {
  test('every vendor word is recognised in any case', () => {
    check([
      [{ orgType: 'residential', orgName: 'Acme' }, 'isp', 'vendor-type:isp'],
      [{ orgType: 'cellular' }, 'isp'],
      [{ orgType: 'ISP' }, 'isp'],
      [{ orgType: 'hosting' }, 'hosting'],
      [{ orgType: 'content_delivery_network' }, 'cdn'],
      [{ orgType: 'college' }, 'education'],
      [{ orgType: 'library' }, 'education'],
      [{ orgType: 'military' }, 'government'],
      [{ orgType: 'banking' }, 'business'],
      [{ orgType: 'Business' }, 'business'],
      [{ orgType: 'unheard of', asName: 'Acme Telecom' }, 'isp', 'name-word:telecom'],
    ])
  })

  test('hosting is refined to cloud and cdn', () => {
    check([
      [{ orgType: 'hosting', asn: 16509 }, 'cloud'],
      [{ isHosting: true, asn: 13335 }, 'cdn', 'flag:hosting'],
      [{ isHosting: true, asName: 'Acme' }, 'hosting', 'flag:hosting'],
      [{ isHosting: true, orgType: 'business', orgName: 'Acme' }, 'business'],
    ])
  })
})

test('hostile input neither throws nor hangs', () => {
  const texts = [
    '',
    ' ',
    '-',
    '.',
    '...',
    '\u0000',
    '\ud800',
    'a'.repeat(100_000),
    '-'.repeat(100_000),
    '1.'.repeat(50_000),
  ]
  for (const text of texts) {
    classify({ asName: text, orgName: `${text}x`, domain: text, hostname: text, asDomain: text, orgType: text })
    classify({ asName: text, hostname: text, domain: text, connectionType: text, asType: text })
  }
})

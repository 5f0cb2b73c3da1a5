import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Classification } from '../../../schemas/classification.ts'
import { classify } from '../../../src/enrichment/rules/classify.ts'
import type { Evidence } from '../../../src/enrichment/rules/evidence.ts'

type Case = readonly [Evidence, Classification | undefined, (string | RegExp)?]

function check(cases: readonly Case[]): void {
  for (const [evidence, classification, rule] of cases) {
    const decision = classify(evidence)
    assert.equal(decision.classification, classification, `${JSON.stringify(evidence)} by ${decision.rule}`)
    if (typeof rule === 'string') assert.equal(decision.rule, rule)
    else if (rule !== undefined) assert.match(decision.rule, rule)
  }
}

describe('order of strength', () => {
  test('no evidence, and empty strings, decide nothing', () => {
    check([
      [{}, undefined, 'none'],
      [{ asName: '', orgName: '', domain: '', hostname: '', asDomain: '', orgType: '' }, undefined, 'none'],
      [{ asn: 4_200_000_000 }, undefined, 'none'],
    ])
  })

  test('a name that nothing speaks for has no class; who is named as the user of an address is a business', () => {
    check([
      [{ asName: 'Acme Widgets GmbH' }, undefined, /^unknown:0\.\d\d$/],
      [{ asName: 'Qorvex' }, undefined, /^unknown:0\.\d\d$/],
      [{ asDomain: 'qorvex.example' }, undefined, 'unknown'],
      [{ orgName: 'Globex', asn: 4_200_000_000 }, 'business', 'name'],
    ])
  })

  test('where the rules are silent the model votes, by the name and the size of the AS, when it is sure', () => {
    check([
      [{ asn: 270_100, asName: 'Kibo Fibranett Eireli', asAddresses: 1024, asHasV6: true }, 'isp'],
      [{ asn: 269_306, asName: 'J L KIBO INFORMATICA ME', asAddresses: 1024, asHasV6: true }, 'isp', /^model:isp:0\.9/],
      [
        { asn: 26_111, asName: 'Kibo Partners, LP', asAddresses: 256, asHasV6: false },
        'business',
        /^model:business:0\.[01]/,
      ],
      [{ asn: 269_306, asName: 'J L KIBO INFORMATICA ME', asType: 'education' }, 'education', 'as-type:education'],
    ])
  })

  test('the domain of the AS tells what its name does not', () => {
    check([[{ asName: 'Qorvex', asDomain: 'qorvextelecom.example' }, 'isp', 'name-word:telecom']])
  })

  test('a table decides over everything', () => {
    check([
      [{ explicit: 'business', asn: 16509, isTor: true, orgType: 'hosting' }, 'business', 'table'],
      [{ explicit: 'cdn', explicitSource: 'cdn-fastly', orgType: 'business' }, 'cdn', 'table:cdn-fastly'],
    ])
  })

  test('anonymity decides over the organisation', () => {
    check([
      [{ isTor: true, orgName: 'Acme', orgType: 'business' }, 'hosting', 'flag:tor'],
      [{ isAnonymousVpn: true, asName: 'Acme' }, 'hosting', 'flag:vpn'],
      [{ isProxy: true }, 'hosting', 'flag:proxy'],
      [{ isAnonymous: true }, 'hosting', 'flag:anonymous'],
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

  test('the holder of the AS itself is no such company', () => {
    check([
      [{ orgName: 'Comcast Business', orgType: 'business', asn: 7922, asName: 'Comcast Cable' }, 'isp'],
      [{ orgName: 'Verizon Business', orgType: 'business', asn: 64500, asName: 'Elsewhere' }, 'isp'],
      [{ orgName: 'Kibo Networks', orgType: 'business', asName: 'Kibo Networks' }, 'business', 'vendor-type:business'],
      [{ orgType: 'business', asn: 7922, asName: 'Comcast Cable' }, 'isp', 'as-number:7922'],
      [{ domain: 'kibo.example', asDomain: 'kibo.example', asName: 'Kibo Telecom' }, 'isp'],
      [{ orgName: 'Acme Inc', asName: 'ACME-AS Acme Incorporated', asType: 'business' }, 'business'],
    ])
  })

  test("evidence of the address outranks the AS, a rented machine's names do not", () => {
    check([
      [{ hostname: 'lib.smallcollege.edu', asn: 174 }, 'education', 'domain:edu'],
      [{ hostname: 'www.smallcollege.edu', asn: 16509 }, 'cloud', 'as-number:16509'],
      [{ domain: 'acme.com', asn: 24940 }, 'hosting', 'as-number:24940'],
      [{ hostname: 'ec2-1-2-3-4.compute-1.amazonaws.com', asName: 'Acme' }, 'cloud', 'domain:amazonaws.com'],
      [{ connectionType: 'Cellular', asName: 'Acme' }, 'isp', 'connection-type:cellular'],
    ])
  })

  test('a vendor type of the AS outranks the words of its name, a known number outranks both', () => {
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
  test('every vendor word is understood, whatever its case', () => {
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

describe('names', () => {
  test('words of many languages', () => {
    check([
      [{ asName: 'CHINANET-BACKBONE No.31,Jin-rong Street' }, 'isp'],
      [{ asName: '中国电信股份有限公司' }, 'isp', 'name-word:电信'],
      [{ asName: 'ＡＣＭＥ　ＴＥＬＥＣＯＭ' }, 'isp'],
      [{ asName: 'Türk Elektronik Haberleşme A.Ş.' }, 'business'],
      [{ asName: 'XYZ Haberleşme Ltd' }, 'isp'],
      [{ asName: 'REDE NOVA TELECOMUNICAÇÕES LTDA' }, 'isp'],
      [{ asName: 'ООО Северный Телеком' }, 'isp'],
      [{ asName: 'Московский государственный университет' }, 'education'],
      [{ asName: '京都大学' }, 'education'],
      [{ asName: 'TU-KL Technische Universität Kaiserslautern' }, 'education'],
      [{ asName: 'Ministère de la Santé' }, 'government'],
      [{ asName: 'Gemeente Utrecht' }, 'government'],
      [{ asName: 'Prefeitura Municipal de Santos' }, 'government'],
      [{ asName: 'İstanbul Büyükşehir Belediyesi' }, 'government'],
      [{ asName: 'Acme Datacenter BV' }, 'hosting'],
      [{ asName: 'Cheap VPS Ltd' }, 'hosting'],
      [{ asName: 'Acme Cloud Services' }, 'cloud'],
      [{ asName: 'SpeedyCDN Inc' }, 'cdn'],
      [{ asName: 'LEVEL3, US' }, 'isp'],
      [{ asName: 'COMCAST-7922' }, 'isp'],
      [{ asName: 'OVH SAS' }, 'hosting'],
    ])
  })

  test('businesses that contain the words of others', () => {
    const names = [
      'T-Mobile Arena',
      'Mobileye Vision Technologies',
      'Telecom Design Software',
      'Universal Cable Manufacturing Co.',
      'Server Technology Inc',
      'Salesforce, Inc.',
      'Ericsson AB',
      'Nokia Solutions and Networks',
      'Huawei Technologies',
      'Cisco Systems',
      'Palo Alto Networks',
      'Federal Express',
      'First National Bank of Omaha',
      'Government Employees Insurance Company (GEICO)',
      'University Hospitals of Cleveland',
      'Volkswagen Automobile Hamburg',
      'Immobilien Meyer GmbH',
      'Grand Hotel Intercontinental',
      'Cogent Biosciences',
      'Planet Fitness',
      'FORD-NET Ford Motor Company',
    ]
    check(names.map((orgName): Case => [{ orgName }, 'business']))
  })

  test('words that prove no organisation: trading, smart, and the place that a provider is named after', () => {
    check([
      [{ asName: 'Kibo Trading Telecom' }, 'isp'],
      [{ asName: 'Kibo Trading Networks' }, 'isp'],
      [{ asName: 'Smart Telecom Ltd' }, 'isp'],
      [{ asName: 'Smart Networks' }, 'isp'],
      [{ asName: 'Mifflin County Wireless LLC' }, 'isp'],
      [{ asName: 'Beresford Municipal Telephone Company' }, 'isp'],
      [{ asName: 'Asn for Kibo Provincial Net' }, 'isp'],
      [{ asName: 'Mifflin County' }, 'government'],
      [{ asName: 'Mifflin County Bank' }, 'business'],
      [{ asName: 'County of Mifflin Department of Communications' }, 'government'],
      [{ asName: 'Kibo Communications Regulatory Authority' }, 'government'],
      [{ asn: 2510, asName: 'FUJITSU LIMITED' }, 'isp', 'as-number:2510'],
      [{ asn: 58793, asName: 'FUJITSU LIMITED' }, 'business'],
      [{ asName: 'Superbroadbandx' }, 'isp', 'name-word:broadband'],
    ])
  })

  test('words of networks in names that are none, and of none in names of networks', () => {
    check([
      [{ asName: 'Kibo Telecommunications LLP' }, 'isp', 'name-word:telecommunications'],
      [{ asName: 'WebSmart Internet' }, 'isp'],
      [{ asName: 'Kibo Optical Networks' }, 'isp'],
      [{ asName: 'JSC Elektrosvyaz' }, 'isp'],
      [{ asName: 'NET-KOMP Jan Kibo' }, 'isp', 'name-word:net'],
      [{ asName: 'PT Kibo Lintas Nusantara' }, 'isp'],
      [{ asName: 'Cooperativa Electrica de Kibo Ltda.' }, 'isp'],
      [{ asName: 'Televisión por Cable Kibo S.A.' }, 'isp'],
      [{ asName: 'Kibo Landesverband e.V.' }, 'business'],
      [{ asName: 'Kibo Network Information Center' }, undefined],
      [{ asName: 'Diskominfo Kab. Kibo' }, 'government'],
      [{ asName: 'STMIK Amikibo' }, 'education'],
      [{ asName: 'PROCERGS - Cia de Processamento de Dados' }, 'government'],
      [{ asName: 'PT Asuransi Kibo Digital Nusantara' }, 'business'],
    ])
  })

  test('no name is too long or too odd: the first 256 characters decide, and nothing throws', () => {
    const odd = [
      'A-'.repeat(500_000),
      'a.'.repeat(500_000),
      `${'x'.repeat(300)}, US`,
      `KIBO-NET ${'Globex '.repeat(100_000)}`,
      'trading as '.repeat(100_000),
      `Kibo t/a ${' '.repeat(100_000)}Telecom`,
      '\ufdfa'.repeat(100_000),
      '\ud800'.repeat(1_000),
      `${'x'.repeat(255)}😀Telecom`,
      '\u0000\u0007\n\r\t\u2028',
      '\u202e\u200b\ufeff',
      '-- - --',
      ', US',
      'constructor __proto__ toString',
      '電'.repeat(100_000),
    ]
    for (const text of odd) {
      for (const key of ['asName', 'orgName'] as const) {
        assert.deepEqual(classify({ [key]: text }), classify({ [key]: text.slice(0, 256) }), text.slice(0, 40))
      }
      for (const key of ['asType', 'orgType', 'connectionType', 'hostname', 'domain', 'asDomain'] as const) {
        assert.doesNotThrow(() => classify({ [key]: text, asName: 'Kibo' }), key)
      }
    }
  })

  test('the name that someone trades as decides before the whole', () => {
    check([
      [{ asName: 'Kibo Engineering Consultants Ltd trading as Kibo Networks' }, 'isp'],
      [{ asName: 'Ivo Kibo t/a KiboNet' }, 'isp'],
      [{ asName: 'Kibo Fiber Holdings, LLC d/b/a Kibo Bank' }, 'business', 'name-word:bank'],
      [{ asName: 'KIBO-NET Kibo Bank dba Qorvex' }, 'business', 'name-word:bank'],
      [{ asName: 'Adba Networks' }, 'isp'],
    ])
  })

  test('a weak word decides for the holder of an AS, not for a company in a block', () => {
    check([
      [{ asName: 'Kibo Networks' }, 'isp'],
      [{ orgName: 'Kibo Networks', asn: 3320, asName: 'Deutsche Telekom AG' }, 'business', 'name'],
      [{ orgName: 'Kibo Telecom', asn: 64500, asName: 'Carrier' }, 'isp'],
    ])
  })
})

describe('domains and reverse names', () => {
  test('reserved registries', () => {
    check([
      [{ asDomain: 'acme.ac.uk', asName: 'Acme' }, 'education', 'domain:ac.uk'],
      [{ domain: 'x.gov.br', orgName: 'X' }, 'government', 'domain:gov.br'],
      [{ domain: 'x.go.jp', orgName: 'X' }, 'government'],
      [{ domain: 'x.gouv.fr', orgName: 'X' }, 'government'],
      [{ domain: 'x.gob.mx', orgName: 'X' }, 'government'],
      [{ domain: 'army.mil', orgName: 'X' }, 'government', 'domain:mil'],
      [{ domain: 'go.com', orgName: 'X' }, 'business'],
      [{ domain: 'gov.com', orgName: 'X' }, 'business'],
      [{ domain: 'edu.example.com', orgName: 'X' }, 'business'],
    ])
  })

  test('pools of access providers and rented machines', () => {
    check([
      [{ hostname: 'p5483a1b2.dip0.t-ipconnect.de', asName: 'X' }, 'isp', 'domain:t-ipconnect.de'],
      [{ hostname: 'cpe-70-1-2-3.kibo.example', asName: 'Kibo' }, 'isp', 'hostname:cpe'],
      [{ hostname: '1-2-3-4.dynamic.kibo.example', asName: 'Other Holder' }, 'isp', 'hostname:dynamic'],
      [{ hostname: 'vps-1234-5.kibo.example', asName: 'Kibo' }, 'hosting', 'hostname:vps'],
    ])
  })

  test("a company's own machines stay the company's", () => {
    check([
      [{ hostname: 'dhcp-10-1-2-3.acme.com', asName: 'Acme Foods' }, 'business', 'name-word:foods'],
      [{ hostname: 'mail.acme.com', asName: 'Acme Foods' }, 'business', 'name-word:foods'],
      [{ hostname: 'vpn1.acme.com', asName: 'Acme Foods' }, 'business', 'name-word:foods'],
      [{ hostname: 'cable.acme.com', asName: 'Acme Foods' }, 'business', 'name-word:foods'],
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

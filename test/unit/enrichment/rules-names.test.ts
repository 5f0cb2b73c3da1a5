import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { classify } from '../../../src/enrichment/rules/classify.ts'
import { type Case, check } from '../../support/classified.ts'

describe('names', () => {
  test('words of many languages', () => {
    check([
      [{ asName: 'CHINANET-BACKBONE No.31,Jin-rong Street' }, 'isp'],
      [{ asName: '中国电信股份有限公司' }, 'isp', 'name-word:电信'],
      [{ asName: 'ＡＣＭＥ　ＴＥＬＥＣＯＭ' }, 'isp'],
      [{ asName: 'Türk Elektronik Haberleşme A.Ş.' }, 'isp'],
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

  test("words that prove no organisation: trading, smart, and the place in a provider's name", () => {
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

  test('the class follows the category that a name states', () => {
    check([
      [{ asName: 'Gmina Kibo' }, 'government', 'name-word:gmina'],
      [{ asName: 'Ministry of Construction of Kibo' }, 'government'],
      [{ asName: 'Ministry of Education and Science of Kibo' }, 'government'],
      [{ asName: 'Kibo County ISD' }, 'education', 'name-word:isd'],
      [{ asName: 'Kibo Courier Plus Ltd.' }, 'business', 'name-word:courier'],
      [{ asName: 'Kibo Courier Telecom' }, 'isp'],
      [{ orgName: 'Gmina Kibo' }, 'government'],
    ])
  })

  test('trades of providers, and parts of words, decide nothing: the model reads them', () => {
    const names = [
      'Kibo Consulting',
      'Kibo Radio',
      'Kibo Electric',
      'Stiftung Kibo',
      'Kibo Refinery',
      '6connect',
      'EntServ Kibo',
    ]
    for (const asName of names) {
      const { rule } = classify({ asName })
      assert.match(rule, /^(?:unknown|model)/, asName)
    }
    check([
      [{ asName: 'Kibo Net Consulting SRL' }, undefined, /^(?:unknown|model)/],
      [{ asName: 'Kibo Telecom Consulting' }, 'isp'],
      [{ asName: 'Kibo Radio Bank' }, 'business'],
    ])
  })

  test('network words in other names, and other words in names of networks', () => {
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

  test('a trading name wins over the whole name', () => {
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

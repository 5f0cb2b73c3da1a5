import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readAsNumbers } from '../../../src/enrichment/rules/as-numbers.ts'
import { fold, readName, tokens } from '../../../src/enrichment/rules/normalise.ts'
import { compileWords, findWords, type WordList } from '../../../src/enrichment/rules/word-table.ts'
import { BUSINESS_WORDS } from '../../../src/enrichment/rules/words/business.ts'
import { EDUCATION_WORDS } from '../../../src/enrichment/rules/words/education.ts'
import { GOVERNMENT_WORDS } from '../../../src/enrichment/rules/words/government.ts'
import { HOSTING_WORDS } from '../../../src/enrichment/rules/words/hosting.ts'
import { ISP_WORDS } from '../../../src/enrichment/rules/words/isp.ts'
import { KNOWN_NAMES } from '../../../src/enrichment/rules/words/known-names.ts'

const ISP: WordList = { classification: 'isp', weight: 4, words: 'telekom*, *net, *fiber*, cable tv, cable, 电信' }
const OTHER: WordList = { classification: 'neutral', weight: 0, words: 'planet // not a network\nübermut' }

describe('word tables', () => {
  test('the shipped tables compile: no word stands twice', () => {
    compileWords(KNOWN_NAMES)
    compileWords([...ISP_WORDS, ...HOSTING_WORDS, ...EDUCATION_WORDS, ...GOVERNMENT_WORDS, ...BUSINESS_WORDS])
  })

  test('a word in two lists is refused', () => {
    assert.throws(() => compileWords([ISP, { classification: 'business', weight: 1, words: 'cable' }]), /stands twice/)
  })

  test('whole words, beginnings, endings, middles, phrases and unspaced scripts are found, the whole word first', () => {
    const table = compileWords([ISP, OTHER])
    const found = (text: string) => findWords(table, tokens(text)).map((hit) => hit.word)
    assert.deepEqual(found('Telekomunikasi'), ['telekom'])
    assert.deepEqual(found('Telekom-AS'), ['telekom'])
    assert.deepEqual(found('MYNET'), ['net'])
    assert.deepEqual(found('Superfiberworks'), ['fiber'])
    assert.deepEqual(found('Kibo Cable TV'), ['cable tv'])
    assert.deepEqual(found('Kibo Cable'), ['cable'])
    assert.deepEqual(found('中国电信集团'), ['电信'])
    assert.deepEqual(found('Planet Übermut'), ['planet', 'ubermut'])
    assert.deepEqual(found('Acme'), [])
  })
})

describe('normalisation', () => {
  test('folds width, case and marks', () => {
    assert.equal(fold('ＴＥＬÉ'), 'tele')
    assert.equal(fold('Łódź'), 'lodz')
    assert.equal(fold('Straße'), 'strasse')
    assert.equal(fold('İLETİŞİM'), 'iletisim')
    assert.equal(fold('대학교'), '대학교')
  })

  test('keeps abbreviations together and separates everything else', () => {
    assert.deepEqual(tokens('Kibo_Net-Works S.p.A.'), ['kibo', 'net', 'works', 'spa'])
    assert.deepEqual(tokens('Kibo A/S d.o.o. U.S.'), ['kibo', 'as', 'doo', 'us'])
    assert.deepEqual(tokens('sonic.net'), ['sonic', 'net'])
  })

  test('tells a handle from a description', () => {
    assert.deepEqual(readName('COMCAST-7922 - Comcast Cable, US'), {
      handle: ['comcast', '7922'],
      description: ['comcast', 'cable'],
    })
    assert.deepEqual(readName('UNI-KL Technische Universität'), {
      handle: ['uni', 'kl'],
      description: ['technische', 'universitat'],
    })
    assert.deepEqual(readName('KORABI-NET SHPK'), { handle: [], description: ['korabi', 'net', 'shpk'] })
    assert.deepEqual(readName('OVH SAS'), { handle: [], description: ['ovh', 'sas'] })
    assert.deepEqual(readName('ACME-NET'), { handle: ['acme', 'net'], description: [] })
  })
})

test('AS numbers are numbers, and each is infrastructure', () => {
  const numbers = [...readAsNumbers()]
  assert.ok(numbers.length > 1000)
  for (const [asn, classification] of numbers) {
    assert.ok(Number.isInteger(asn) && asn > 0 && asn < 2 ** 32, String(asn))
    assert.ok(['isp', 'hosting', 'cloud', 'cdn'].includes(classification), `${asn} ${classification}`)
  }
})

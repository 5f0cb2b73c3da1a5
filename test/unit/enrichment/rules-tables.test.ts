import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readAsNumbers } from '../../../src/enrichment/rules/as-numbers.ts'
import { loadRules } from '../../../src/enrichment/rules/load.ts'
import { fold, readName, tokens } from '../../../src/enrichment/rules/normalise.ts'
import { knownNames, nameWords, readWords } from '../../../src/enrichment/rules/score-name.ts'
import { classesByEntry, parseSections, readSections } from '../../../src/enrichment/rules/sections.ts'
import { compileWords, findWords, type Hit, wordLists } from '../../../src/enrichment/rules/word-table.ts'

const WORDS = `
# Two lists of words.
[isp 4]
telekom*, *net, *fiber*, cable tv
cable, 电信
[neutral 0]
planet # not a network
übermut
`

function compile(text: string) {
  return compileWords(wordLists(parseSections(text, 'words.txt')))
}

/** Whether a longer part of a word counts less than the shorter one inside it. */
function hides(longer: Hit, shorter: Hit): boolean {
  return longer.classification === shorter.classification && longer.weight < shorter.weight
}

describe('data files of the rules', () => {
  test('all of them load', () => {
    loadRules()
  })

  test('sections, entries of several words and comments are read', () => {
    assert.deepEqual(parseSections('# x\n[a b]\n one, two words ,\n\nthree # no, not this\n[ c ]\n[a b]\n四', 'f'), [
      { heading: ['a', 'b'], entries: ['one', 'two words', 'three'] },
      { heading: ['c'], entries: [] },
      { heading: ['a', 'b'], entries: ['四'] },
    ])
  })

  test('an error in one is reported with its place', () => {
    assert.throws(() => parseSections('# x\nword', 'f.txt'), /f\.txt:2: an entry before the first heading/)
    assert.throws(() => parseSections('[isp 4] word', 'f.txt'), /f\.txt:1: .* is not a heading/)
    assert.throws(() => readSections('absent.txt'), /absent\.txt/)
    assert.throws(() => classesByEntry(parseSections('[ips]\nword', 'f.txt')), /"ips" in a heading/)
    for (const heading of ['isp', 'isp heavy', 'isp 4 5', 'isp 4 yields 5']) {
      assert.throws(() => compile(`[${heading}]\nword`), /is not a heading of a word list/, heading)
    }
  })
})

describe('word tables', () => {
  test('the shipped tables compile: no word appears twice', () => {
    assert.ok(knownNames().exact.size > 100)
    assert.ok(nameWords().exact.size > 100)
  })

  test('no beginning or ending hides a stronger one of its class', () => {
    const { prefixes, suffixes } = nameWords()
    const lighter = [...prefixes].flatMap(([longer, hit]) =>
      [...prefixes]
        .filter(([shorter, other]) => longer.startsWith(shorter) && hides(hit, other))
        .map(([shorter]) => `${longer}* hides ${shorter}*`),
    )
    const lighterEnds = [...suffixes].flatMap(([longer, hit]) =>
      [...suffixes]
        .filter(([shorter, other]) => longer.endsWith(shorter) && hides(hit, other))
        .map(([shorter]) => `*${longer} hides *${shorter}`),
    )
    assert.deepEqual([...lighter, ...lighterEnds], [])
    assert.equal(readWords('Kibo Telecommunications Union', 'as')?.weight, 4)
  })

  test('a word in two lists is refused', () => {
    assert.throws(() => compile(`${WORDS}[business 1]\ncable`), /contain a word twice/)
  })

  test('whole words, beginnings, endings, middles, phrases and unspaced scripts are found', () => {
    const table = compile(WORDS)
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

test('the longest part of a word wins: a middle over a shorter beginning or ending', () => {
  const table = compile('[isp 4]\n*broadband*, tele*\n[isp 2]\n*band\n[business 5]\nvolksbank*, *ban*')
  const found = (text: string) => findWords(table, tokens(text)).map((hit) => hit.word)
  assert.deepEqual(found('Superbroadband'), ['broadband'])
  assert.deepEqual(found('Telebroadbands'), ['broadband'])
  assert.deepEqual(found('Airband'), ['band'])
  assert.deepEqual(found('Volksbankland'), ['volksbank'])
})

describe('normalisation', () => {
  test('folds width, case and marks', () => {
    assert.equal(fold('ＴＥＬÉ'), 'tele')
    assert.equal(fold('Łódź'), 'lodz')
    assert.equal(fold('Straße'), 'strasse')
    assert.equal(fold('İLETİŞİM'), 'iletisim')
    assert.equal(fold('대학교'), '대학교')
    assert.equal(fold('Tele\u00ad\u200bkom\u202e'), 'telekom')
  })

  test('keeps abbreviations together and separates everything else', () => {
    assert.deepEqual(tokens('Kibo_Net-Works S.p.A.'), ['kibo', 'net', 'works', 'spa'])
    assert.deepEqual(tokens('Kibo A/S d.o.o. U.S.'), ['kibo', 'as', 'doo', 'us'])
    assert.deepEqual(tokens('sonic.net'), ['sonic', 'net'])
  })

  test('a handle is distinguished from a description', () => {
    assert.deepEqual(readName('COMCAST-7922 - Comcast Cable, US'), {
      handle: ['comcast', '7922'],
      description: ['comcast', 'cable'],
    })
    assert.deepEqual(readName('UNI-KL Technische Universität'), {
      handle: ['uni', 'kl'],
      description: ['technische', 'universitat'],
    })
    assert.deepEqual(readName('KORABI-NET SHPK'), { handle: [], description: ['korabi', 'net', 'shpk'] })
    assert.deepEqual(readName('HI-SPEED Broadband'), { handle: [], description: ['hi', 'speed', 'broadband'] })
    assert.deepEqual(readName('NET-KOMP Jan Kibo, PL'), { handle: ['net', 'komp'], description: ['jan', 'kibo'] })
    assert.deepEqual(readName('KIBO-UK-AS Globex plc'), {
      handle: ['kibo', 'uk', 'as'],
      description: ['globex', 'plc'],
    })
    assert.deepEqual(readName('GO-NET Spółka z o.o.'), { handle: [], description: ['go', 'net', 'spolka', 'z', 'oo'] })
    assert.deepEqual(readName('OVH SAS'), { handle: [], description: ['ovh', 'sas'] })
    assert.deepEqual(readName('ACME-NET'), { handle: ['acme', 'net'], description: [] })
  })
})

test('AS numbers are numbers, and each is infrastructure', () => {
  const numbers = [...readAsNumbers()]
  assert.ok(numbers.length > 1000)
  for (const [asn, classification] of numbers) {
    assert.ok(Number.isInteger(asn) && asn > 0 && asn < 2 ** 32, String(asn))
    assert.ok(['isp', 'hosting', 'cloud', 'cdn', 'vpn', 'bot'].includes(classification), `${asn} ${classification}`)
  }
})

"""Full text: which pages match these words, best first?"""

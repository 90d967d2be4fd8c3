import pytest

from helpers.report import published

KEY = ["data_set", "test_set", "backbone", "method", "calibration", "metric"]
TABLES = {  # how many numbers each of a paper's tables has
    # six tables of three methods, before and after, by three metrics
    "openset_calibration": dict.fromkeys(["I", "II", "III", "IV", "V", "VI"], 18),
    # nine methods; accuracy, two AURC, and two numbers for each of five or four OOD sets
    "unknown_detection": {"5": 9 * 13, "6": 9 * 11},
    # two times four models; nine scores, eight test sets and their average, two error rates
    "human_centric": {"1": 4 * 9 * 9 * 2, "2": 4 * 9 * 9 * 2},
    # seven evaluators, two metrics, four detectors; four networks, four ID sets, six metrics; six
    # sets with truths, and what three evaluators say, of four detectors
    "gscore": {"1": 40, "2": 12, "3": 12, "4": 12, "5": 4 * (6 + 3 * 7), "6": 16},
}
# read from the papers: paper, its table, the columns that tell where, value, deviation
CELLS = """
openset_calibration,I,CIFAR10,test,ResNet,closed-set,before,brier,0.255,nan
openset_calibration,III,CIFAR10,test,DenseNet,open-set,before,accuracy,0.645,nan
openset_calibration,VI,SVHN,test,EfficientNet,open-set + OpenMax,after,accuracy,0.857,nan
unknown_detection,5,CIFAR-40,test,ResNet18,baseline,,accuracy,0.7443,0.0051
unknown_detection,5,CIFAR-40,union,ResNet18,ensemble,,aurc,0.69349,nan
unknown_detection,5,CIFAR-40,Gaussian Noise,ResNet18,baseline,,fpr_at_tpr,0.9172,0.0627
unknown_detection,6,ImageNet-200,near,ResNet-152,crl,,auroc,0.7843,0.0021
human_centric,1,imagenet,textures,VGG19,msp,,der95,0.2222,nan
human_centric,1,imagenet,average,RN50,knn,,der99,0.6922,nan
gscore,1,CIFAR-10,all,DLA,msp/ude_wasserstein,,rmse_fpr95,0.0346,0.0063
gscore,2,CIFAR-10,all,ResNet-101,msp/ude_wasserstein,,predicted_fpr95,0.4994,nan
gscore,3,CIFAR-100,all,DLA,msp,,fpr95,0.8660,nan
gscore,4,CIFAR-10,all,DLA,msp/ude_wasserstein,,pearson_detection_error,-0.976,nan
gscore,5,CIFAR-10,Ischemia,DLA,odin,,fpr95,0.2682,nan
gscore,6,CIFAR-10,all,DLA,odin/gmm_kl,,rmse_fpr95,0.1344,0.0094
"""
ARXIV = {
    "openset_calibration": "2205.07160", "unknown_detection": "2112.00337",
    "human_centric": "2211.16778", "gscore": "2302.08287",
}  # fmt: skip


@pytest.mark.parametrize("paper", TABLES)
def test_every_cell_of_the_tables_is_there_once_in_its_unit(paper):
    numbers = published.load(paper)
    assert tuple(numbers.columns) == published.COLUMNS
    assert numbers.groupby("table").size().to_dict() == TABLES[paper]
    assert not numbers.duplicated(KEY).any()
    assert not numbers.drop(columns="std").isna().any().any()
    assert numbers["value"].between(-1 if paper == "gscore" else 0, 1).all()
    assert numbers["std"].dropna().between(0, 0.5).all()


@pytest.mark.parametrize("line", CELLS.strip().splitlines())
def test_cells_are_those_of_the_paper(line):
    """Values and deviations are those of the printed cell, in the unit interval."""
    paper, table, *where, value, std = line.split(",")
    numbers = published.load(paper).set_index(KEY).sort_index()
    found = numbers.loc[tuple(where)]
    assert [found["value"], found["std"]] == pytest.approx([float(value), float(std)], nan_ok=True)
    assert found["source"] == f"Table {table}, arXiv:{ARXIV[paper]}"


def test_an_unknown_paper_is_refused_with_the_nearest_name():
    with pytest.raises(ValueError, match="did you mean 'openset_calibration'"):
        published.load("openset_calibrations")
    assert published.papers() == tuple(sorted(TABLES))


def test_averages_are_the_means_of_their_cells():
    """Of 144 printed averages 123 are these means, rounded; none of KNN is."""
    numbers = published.load("human_centric")
    average = numbers["test_set"] == "average"
    fresh = published.with_averages(numbers)
    assert fresh[~average].equals(numbers[~average])
    off = (fresh["value"] - numbers["value"])[average].abs()
    agree = off < 1e-4 + 1e-9  # cells and average are rounded to 0.0001
    methods = numbers.loc[average, "method"]
    assert agree.sum() == 123 and (~agree[methods == "knn"]).all()
    assert off[methods == "knn"].max() < 0.019 and off[methods != "knn"].max() < 4e-4
